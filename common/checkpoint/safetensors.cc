#include "common/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
#include "common/base/status_macros.h"
#include "common/base/strict_json.h"
#include "common/checkpoint/safetensors_dtype.h"
#include "common/model/tensor_name.h"

namespace weir {
namespace {

using nlohmann::json;

// Entries take three levels; a key that is none of ours, and so ignored, may have some more.
constexpr JsonLimits kHeaderLimits{
    .bytes = kMaxSafetensorsHeaderBytes, .depth = 8, .values = 16'000'000};

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat(parts...));
}

absl::Status DecodeMetadata(const json& value, std::map<std::string, std::string>& metadata) {
  if (!value.is_object()) return Bad("__metadata__ is not an object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) return Bad("__metadata__ key ", QuotedName(key), " is not a string");
    metadata.emplace(key, text.get<std::string>());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::int64_t>> DecodeShape(const std::string& name, const json& value) {
  std::vector<std::int64_t> shape;
  for (const json& dimension : value) {
    if (!dimension.is_number_unsigned() ||
        dimension.get<std::uint64_t>() >
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Bad("entry ", QuotedName(name), ": a dimension is not an integer from 0 to 2^63 - 1");
    }
    shape.push_back(dimension.get<std::int64_t>());
  }
  return shape;
}

absl::StatusOr<SafetensorsEntry> DecodeEntry(const std::string& name, const json& value) {
  if (!value.is_object()) return Bad("entry ", QuotedName(name), " is not an object");
  const auto dtype = value.find("dtype");
  const auto shape = value.find("shape");
  const auto offsets = value.find("data_offsets");
  if (dtype == value.end() || !dtype->is_string()) {
    return Bad("entry ", QuotedName(name), " has no dtype that is a string");
  }
  if (shape == value.end() || !shape->is_array()) {
    return Bad("entry ", QuotedName(name), " has no shape that is a list");
  }
  if (offsets == value.end() || !offsets->is_array() || offsets->size() != 2 ||
      !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned()) {
    return Bad("entry ", QuotedName(name), " has no data_offsets that are two integers from 0");
  }
  SafetensorsEntry entry;
  entry.name = name;
  entry.dtype = dtype->get<std::string>();
  WEIR_ASSIGN_OR_RETURN(entry.shape, DecodeShape(name, *shape));
  entry.begin = (*offsets)[0].get<std::uint64_t>();
  entry.end = (*offsets)[1].get<std::uint64_t>();
  const absl::StatusOr<std::uint64_t> bytes = SafetensorsBytes(entry.dtype, entry.shape);
  if (!bytes.ok()) return Bad("entry ", QuotedName(name), ": ", bytes.status().message());
  if (entry.end < entry.begin || entry.end - entry.begin != *bytes) {
    return Bad("entry ", QuotedName(name), ": data_offsets [", entry.begin, ",", entry.end,
               "] do not hold the ", *bytes, " bytes of its dtype and shape");
  }
  return entry;
}

absl::Status CheckTiling(std::span<const SafetensorsEntry> entries, std::uint64_t data_bytes) {
  std::uint64_t covered = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != covered) {
      return Bad("entry ", QuotedName(entry.name), " begins at byte ", entry.begin,
                 " of the data, ", entry.begin > covered ? "after a hole" : "inside another entry",
                 ": expected ", covered);
    }
    covered = entry.end;
  }
  if (covered > data_bytes) {
    return Bad("truncated: its entries need ", covered, " bytes of data, found ", data_bytes);
  }
  if (covered < data_bytes) {
    return Bad("its entries cover ", covered, " bytes of data, found ", data_bytes,
               ": there are trailing bytes");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json_text,
                                                         std::uint64_t data_bytes) {
  if (json_text.empty() || json_text[0] != '{') return Bad("the header does not begin with '{'");
  const absl::StatusOr<json> document = ParseStrictJson(json_text, kHeaderLimits);
  if (!document.ok()) return Bad("the header: ", document.status().message());
  SafetensorsHeader header;
  for (const auto& [name, value] : document->items()) {
    if (name == kSafetensorsMetadataKey) {
      WEIR_RETURN_IF_ERROR(DecodeMetadata(value, header.metadata));
      continue;
    }
    WEIR_ASSIGN_OR_RETURN(SafetensorsEntry entry, DecodeEntry(name, value));
    header.entries.push_back(std::move(entry));
  }
  // An empty entry shares its begin with the one after it, and comes first.
  std::ranges::sort(header.entries, [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  WEIR_RETURN_IF_ERROR(CheckTiling(header.entries, data_bytes));
  return header;
}

absl::StatusOr<SafetensorsHeader> ReadSafetensorsHeader(const UniqueFd& fd, const std::string& path,
                                                        std::uint64_t file_bytes) {
  if (file_bytes < kSafetensorsLengthBytes) {
    return Bad(path, ": truncated: ", file_bytes, " bytes, not even a header length");
  }
  std::array<unsigned char, kSafetensorsLengthBytes> length_bytes;
  WEIR_RETURN_IF_ERROR(ReadAt(fd, path, 0, std::as_writable_bytes(std::span(length_bytes))));
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | length_bytes[static_cast<std::size_t>(i)];
  if (length > kMaxSafetensorsHeaderBytes) {
    return Bad(path, ": a header of ", length, " bytes; the format allows ",
               kMaxSafetensorsHeaderBytes);
  }
  if (length > file_bytes - kSafetensorsLengthBytes) {
    return Bad(path, ": truncated: a header of ", length, " bytes, but only ",
               file_bytes - kSafetensorsLengthBytes, " follow its length");
  }
  std::string text(length, '\0');
  WEIR_RETURN_IF_ERROR(
      ReadAt(fd, path, kSafetensorsLengthBytes, std::as_writable_bytes(std::span(text))));
  const std::uint64_t data_start = kSafetensorsLengthBytes + length;
  absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(text, file_bytes - data_start);
  if (!header.ok()) return Bad(path, ": ", header.status().message());
  header->data_start = data_start;
  return header;
}

}  // namespace weir
