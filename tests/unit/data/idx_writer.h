#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include "gtest/gtest.h"

namespace weir {

/// A folder that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-data-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
}

inline void WriteGzip(const std::string& path, const std::string& bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), std::ssize(bytes));
  EXPECT_EQ(gzclose(file), Z_OK);
}

inline std::string ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::string IdxHeader(std::initializer_list<std::uint32_t> words) {
  std::string header;
  for (const std::uint32_t word : words) {
    for (int shift = 24; shift >= 0; shift -= 8) header += static_cast<char>(word >> shift & 0xff);
  }
  return header;
}

/// `count` images of rows x columns whose bytes count up from 0, modulo 256.
inline std::string IdxImagesOf(std::uint32_t count, std::uint32_t rows, std::uint32_t columns) {
  std::string file = IdxHeader({2051, count, rows, columns});
  for (std::uint32_t i = 0; i < count * rows * columns; ++i) file += static_cast<char>(i & 0xff);
  return file;
}

/// Labels 0, 1, .. 9, 0, ..
inline std::string IdxLabelsOf(std::uint32_t count) {
  std::string file = IdxHeader({2049, count});
  for (std::uint32_t i = 0; i < count; ++i) file += static_cast<char>(i % 10);
  return file;
}

}  // namespace weir
