#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/unique_fd.h"

namespace weir {

/// The format's own limit on the JSON header.
inline constexpr std::uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;
/// The key of the strings that belong to the file as a whole.
inline constexpr absl::string_view kSafetensorsMetadataKey = "__metadata__";
/// Before the header: its length, 8 bytes, little endian.
inline constexpr std::uint64_t kSafetensorsLengthBytes = 8;

/// One tensor as a header names it.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  ///< "F32", "BF16", ...
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< of its bytes, from the end of the header
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< by ascending begin; they tile [0, data_bytes())
  std::map<std::string, std::string> metadata;
  std::uint64_t data_start = 0;  ///< of the file's bytes, where the header ends
  std::uint64_t data_bytes() const { return entries.empty() ? 0 : entries.back().end; }
};

/// Decodes the JSON of a header and checks it whole: known dtypes, sizes that match shapes, and
/// ranges that cover all bytes up to the end of the file without hole or overlap. As the reference
/// implementation does, it takes entries in any order and ignores further keys in an entry; unlike
/// it, it refuses a name that stands twice, as the format's description says.
/// `data_bytes`: what follows the header in the file.
/// Errors: kDataLoss, naming the entry and what was expected and found.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json,
                                                         std::uint64_t data_bytes);

/// Length and JSON of a header whose entries lie in this order without gaps; `begin` and `end` are
/// computed here. Padded with spaces so that the data starts at a multiple of 8.
/// Returns the bytes to write and the decoded header. Errors: kInvalidArgument for an empty,
/// duplicate or non-UTF-8 name, an unknown dtype, a negative dimension, a size that overflows or is
/// no whole number of bytes, or a header above the limit.
struct FormattedHeader {
  std::string bytes;
  SafetensorsHeader header;
};
absl::StatusOr<FormattedHeader> FormatSafetensorsHeader(
    std::vector<SafetensorsEntry> entries, const std::map<std::string, std::string>& metadata);

/// Reads and checks the header of an open file. Errors: kDataLoss, naming `path`.
absl::StatusOr<SafetensorsHeader> ReadSafetensorsHeader(const UniqueFd& fd, const std::string& path,
                                                        std::uint64_t file_bytes);

}  // namespace weir
