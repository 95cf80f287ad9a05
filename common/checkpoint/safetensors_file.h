#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/bytes.h"
#include "common/base/unique_fd.h"
#include "common/checkpoint/safetensors.h"

namespace weir {

/// A safetensors file that is open for reading. Stays readable when its name is removed.
/// Errors: all with exit code 3, naming the file.
class SafetensorsFile {
 public:
  /// Reads the header and checks it against the file's size. Errors: as OpenForReading and
  /// ReadSafetensorsHeader.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return header_.data_start + header_.data_bytes(); }
  const SafetensorsHeader& header() const { return header_; }

  /// Fills `out` from byte `offset` of an entry (index into header().entries) on.
  /// Errors: kInvalidArgument beyond the entry's end; kDataLoss if the file shrank meanwhile.
  absl::Status Read(std::size_t entry, std::uint64_t offset, MutableByteSpan out) const;

 private:
  SafetensorsFile(std::string path, UniqueFd fd, SafetensorsHeader header);

  std::string path_;
  UniqueFd fd_;
  SafetensorsHeader header_;
};

}  // namespace weir
