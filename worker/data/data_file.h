#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct gzFile_s;

namespace weir {

/// Reads a regular file from its beginning; one whose name ends in ".gz" is unpacked on the way.
/// All errors name the file and carry exit code 3. One thread at a time.
class DataFile {
 public:
  /// Errors: a missing folder or file, not a regular file, no permission; "*.gz" and not gzip.
  static absl::StatusOr<DataFile> Open(const std::string& path);

  /// Fills `bytes` and returns its size, or less at the file's end.
  /// Errors: gzip that is truncated or corrupt (its checksum is checked once the end is reached).
  absl::StatusOr<std::size_t> Read(std::span<std::uint8_t> bytes);

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };
  DataFile(std::string path, gzFile_s* file) : path_(std::move(path)), file_(file) {}
  absl::Status ReadError();

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::uint64_t read_bytes_ = 0;
};

/// kDataLoss with exit code 3: `path` and what is wrong with it.
absl::Status BadFile(const std::string& path, const std::string& what);

}  // namespace weir
