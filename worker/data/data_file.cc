#include "worker/data/data_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

// zlib's default of 8 KiB costs 3200 system calls for the training images.
constexpr unsigned kBufferBytes = 256 * 1024;
constexpr std::size_t kLargestRead = 1 << 30;  // gzread counts in int

absl::Status Missing(const std::string& what) {
  return WithExitCode(
      absl::NotFoundError(absl::StrCat(what, "; give the folder of the data set with --data-dir")),
      ExitCode::kBadData);
}

absl::Status CheckRegular(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error)) {
    return Missing(absl::StrCat("data folder ", folder.string(), " does not exist"));
  }
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return Missing(absl::StrCat("data file ", path, " does not exist"));
  if (!fs::is_regular_file(status)) return BadFile(path, "is not a regular file");
  return absl::OkStatus();
}

// gzread hands out what is not gzip as it is, so this is looked at here.
absl::Status CheckGzip(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 2> start{};
  file.read(start.data(), start.size());
  const auto got = static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount()));
  if (got < start.size()) {
    return BadFile(path, absl::StrFormat("is not gzip: it has %d bytes", got));
  }
  const auto first = static_cast<unsigned char>(start[0]);
  const auto second = static_cast<unsigned char>(start[1]);
  if (first == 0x1f && second == 0x8b) return absl::OkStatus();
  return BadFile(path, absl::StrFormat("is not gzip: it begins with the bytes %02x %02x, expected "
                                       "1f 8b (a file that is not packed must not be named .gz)",
                                       first, second));
}

}  // namespace

absl::Status BadFile(const std::string& path, const std::string& what) {
  return WithExitCode(absl::DataLossError(absl::StrCat("data file ", path, " ", what)),
                      ExitCode::kBadData);
}

void DataFile::Close::operator()(gzFile_s* file) const { gzclose_r(file); }

absl::StatusOr<DataFile> DataFile::Open(const std::string& path) {
  if (absl::Status regular = CheckRegular(path); !regular.ok()) return regular;
  errno = 0;
  DataFile file(path, gzopen(path.c_str(), "rb"));
  if (file.file_ == nullptr) {
    return BadFile(path, absl::StrCat("cannot be opened: ", std::strerror(errno)));
  }
  gzbuffer(file.file_.get(), kBufferBytes);
  if (absl::EndsWith(path, ".gz")) {
    if (absl::Status gzip = CheckGzip(path); !gzip.ok()) return gzip;
  }
  return file;
}

absl::Status DataFile::ReadError() {
  int code = Z_OK;
  const char* const text = gzerror(file_.get(), &code);
  switch (code) {
    case Z_OK:
    case Z_STREAM_END:
      return absl::OkStatus();
    case Z_BUF_ERROR:
      return BadFile(path_, absl::StrCat("is truncated: its gzip stream breaks off after ",
                                         read_bytes_, " unpacked bytes"));
    case Z_ERRNO:
      return BadFile(path_, absl::StrCat("cannot be read: ", std::strerror(errno)));
    default:
      return BadFile(path_, absl::StrCat("is corrupt: after ", read_bytes_,
                                         " unpacked bytes gzip reports: ", text));
  }
}

absl::StatusOr<std::size_t> DataFile::Read(std::span<std::uint8_t> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto ask = static_cast<unsigned>(std::min(bytes.size() - done, kLargestRead));
    errno = 0;
    const int got = gzread(file_.get(), bytes.data() + done, ask);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
      read_bytes_ += static_cast<std::uint64_t>(got);
    }
    if (got == static_cast<int>(ask)) continue;
    if (absl::Status error = ReadError(); !error.ok()) return error;
    break;
  }
  return done;
}

}  // namespace weir
