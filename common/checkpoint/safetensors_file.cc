#include "common/checkpoint/safetensors_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

absl::Status NoSafetensors(absl::Status status) {
  return WithExitCode(std::move(status), ExitCode::kBadData);
}

}  // namespace

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  absl::StatusOr<OpenedFile> opened = OpenForReading(path);
  if (!opened.ok()) return NoSafetensors(std::move(opened).status());
  absl::StatusOr<SafetensorsHeader> header = ReadSafetensorsHeader(opened->fd, path, opened->bytes);
  if (!header.ok()) return NoSafetensors(std::move(header).status());
  return SafetensorsFile(path, std::move(opened->fd), *std::move(header));
}

SafetensorsFile::SafetensorsFile(std::string path, UniqueFd fd, SafetensorsHeader header)
    : path_(std::move(path)), fd_(std::move(fd)), header_(std::move(header)) {}

absl::Status SafetensorsFile::Read(std::size_t entry, std::uint64_t offset,
                                   MutableByteSpan out) const {
  if (entry >= header_.entries.size()) {
    return NoSafetensors(absl::InvalidArgumentError(
        absl::StrCat(path_, ": entry ", entry, " of only ", header_.entries.size())));
  }
  const SafetensorsEntry& of = header_.entries[entry];
  const std::uint64_t bytes = of.end - of.begin;
  if (offset > bytes || out.size() > bytes - offset) {
    return NoSafetensors(absl::InvalidArgumentError(
        absl::StrCat(path_, ": ", out.size(), " bytes at ", offset, " of an entry of ", bytes)));
  }
  return NoSafetensors(ReadAt(fd_, path_, header_.data_start + of.begin + offset, out));
}

}  // namespace weir
