#include "common/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
#include "common/base/status_macros.h"
#include "common/base/strict_json.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr JsonLimits kHeaderLimits{
    .bytes = kMaxSafetensorsHeaderBytes, .depth = 3, .values = 16'000'000};
constexpr absl::string_view kMetadataKey = "__metadata__";

std::string Quoted(absl::string_view name) {
  return absl::StrCat("'", absl::Utf8SafeCHexEscape(name), "'");
}

template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat(parts...));
}

/// Bytes of `entry` by its dtype and shape.
absl::StatusOr<std::uint64_t> BytesOf(const SafetensorsEntry& entry) {
  const std::uint64_t width = SafetensorsWidth(entry.dtype);
  if (width == 0) {
    return Bad("entry ", Quoted(entry.name), ": dtype ", Quoted(entry.dtype), " is not known here");
  }
  // Zero elements, whatever the other dimensions say.
  if (std::ranges::find(entry.shape, 0) != entry.shape.end()) return 0;
  std::uint64_t bytes = width;
  for (std::int64_t dimension : entry.shape) {
    if (dimension < 0) return Bad("entry ", Quoted(entry.name), ": a dimension is negative");
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dimension), &bytes) ||
        bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Bad("entry ", Quoted(entry.name), ": its size overflows 64 bits");
    }
  }
  return bytes;
}

absl::Status DecodeMetadata(const json& value, std::map<std::string, std::string>& metadata) {
  if (!value.is_object()) return Bad("__metadata__ is not an object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) return Bad("__metadata__ key ", Quoted(key), " is not a string");
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
      return Bad("entry ", Quoted(name), ": a dimension is not an integer from 0 to 2^63 - 1");
    }
    shape.push_back(dimension.get<std::int64_t>());
  }
  return shape;
}

absl::StatusOr<SafetensorsEntry> DecodeEntry(const std::string& name, const json& value) {
  if (!value.is_object()) return Bad("entry ", Quoted(name), " is not an object");
  const auto dtype = value.find("dtype");
  const auto shape = value.find("shape");
  const auto offsets = value.find("data_offsets");
  if (dtype == value.end() || !dtype->is_string()) {
    return Bad("entry ", Quoted(name), " has no dtype that is a string");
  }
  if (shape == value.end() || !shape->is_array()) {
    return Bad("entry ", Quoted(name), " has no shape that is a list");
  }
  if (offsets == value.end() || !offsets->is_array() || offsets->size() != 2 ||
      !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned()) {
    return Bad("entry ", Quoted(name), " has no data_offsets that are two integers from 0");
  }
  if (value.size() != 3) {
    return Bad("entry ", Quoted(name), " has keys beside dtype, shape and data_offsets");
  }
  SafetensorsEntry entry;
  entry.name = name;
  entry.dtype = dtype->get<std::string>();
  WEIR_ASSIGN_OR_RETURN(entry.shape, DecodeShape(name, *shape));
  entry.begin = (*offsets)[0].get<std::uint64_t>();
  entry.end = (*offsets)[1].get<std::uint64_t>();
  WEIR_ASSIGN_OR_RETURN(const std::uint64_t bytes, BytesOf(entry));
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    return Bad("entry ", Quoted(name), ": data_offsets [", entry.begin, ",", entry.end,
               "] do not hold the ", bytes, " bytes of its dtype and shape");
  }
  return entry;
}

absl::Status CheckTiling(std::span<const SafetensorsEntry> entries, std::uint64_t data_bytes) {
  std::uint64_t covered = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != covered) {
      return Bad("entry ", Quoted(entry.name), " begins at byte ", entry.begin, " of the data, ",
                 entry.begin > covered ? "after a hole" : "inside another entry", ": expected ",
                 covered);
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

absl::StatusOr<std::string> FormatEntry(const SafetensorsEntry& entry) {
  WEIR_ASSIGN_OR_RETURN(std::string text, QuoteJson(entry.name));
  absl::StrAppend(&text, ":{\"dtype\":\"", entry.dtype, "\",\"shape\":[");
  for (std::size_t i = 0; i < entry.shape.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", entry.shape[i]);
  }
  absl::StrAppend(&text, "],\"data_offsets\":[", entry.begin, ",", entry.end, "]}");
  return text;
}

absl::StatusOr<std::string> FormatMetadata(const std::map<std::string, std::string>& metadata) {
  std::string text = absl::StrCat("\"", kMetadataKey, "\":{");
  const char* separator = "";
  for (const auto& [key, value] : metadata) {
    WEIR_ASSIGN_OR_RETURN(const std::string quoted_key, QuoteJson(key));
    WEIR_ASSIGN_OR_RETURN(const std::string quoted_value, QuoteJson(value));
    absl::StrAppend(&text, separator, quoted_key, ":", quoted_value);
    separator = ",";
  }
  return text + "}";
}

/// Lays the entries out one after the other.
absl::Status PlaceEntries(std::vector<SafetensorsEntry>& entries) {
  absl::flat_hash_set<absl::string_view> names;
  std::uint64_t position = 0;
  for (SafetensorsEntry& entry : entries) {
    if (entry.name.empty() || entry.name == kMetadataKey || !names.insert(entry.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry ", Quoted(entry.name), ": an empty, reserved or duplicate name"));
    }
    const absl::StatusOr<std::uint64_t> bytes = BytesOf(entry);
    if (!bytes.ok()) return absl::InvalidArgumentError(bytes.status().message());
    entry.begin = position;
    if (__builtin_add_overflow(position, *bytes, &position)) {
      return absl::InvalidArgumentError("the entries together overflow 64 bits");
    }
    entry.end = position;
  }
  return absl::OkStatus();
}

std::string LittleEndian(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

}  // namespace

std::uint64_t SafetensorsWidth(absl::string_view dtype) {
  struct Width {
    absl::string_view dtype;
    std::uint64_t bytes;
  };
  static constexpr std::array kWidths = {
      Width{"F32", 4},  Width{"F16", 2},     Width{"BF16", 2},    Width{"F64", 8},
      Width{"I64", 8},  Width{"I32", 4},     Width{"I16", 2},     Width{"I8", 1},
      Width{"U64", 8},  Width{"U32", 4},     Width{"U16", 2},     Width{"U8", 1},
      Width{"BOOL", 1}, Width{"F8_E4M3", 1}, Width{"F8_E5M2", 1}, Width{"F8_E8M0", 1},
      Width{"C64", 8},
  };
  for (const Width& width : kWidths) {
    if (width.dtype == dtype) return width.bytes;
  }
  return 0;
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json_text,
                                                         std::uint64_t data_bytes) {
  if (json_text.empty() || json_text[0] != '{') return Bad("the header does not begin with '{'");
  const absl::StatusOr<json> document = ParseStrictJson(json_text, kHeaderLimits);
  if (!document.ok()) return Bad("the header: ", document.status().message());
  SafetensorsHeader header;
  for (const auto& [name, value] : document->items()) {
    if (name == kMetadataKey) {
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

absl::StatusOr<FormattedHeader> FormatSafetensorsHeader(
    std::vector<SafetensorsEntry> entries, const std::map<std::string, std::string>& metadata) {
  WEIR_RETURN_IF_ERROR(PlaceEntries(entries));
  std::string text = "{";
  const char* separator = "";
  if (!metadata.empty()) {
    WEIR_ASSIGN_OR_RETURN(const std::string part, FormatMetadata(metadata));
    text += part;
    separator = ",";
  }
  for (const SafetensorsEntry& entry : entries) {
    WEIR_ASSIGN_OR_RETURN(const std::string part, FormatEntry(entry));
    absl::StrAppend(&text, separator, part);
    separator = ",";
  }
  text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMaxSafetensorsHeaderBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the header of ", entries.size(), " entries takes ", text.size(),
                     " bytes; the "
                     "format allows ",
                     kMaxSafetensorsHeaderBytes, ": use more shards"));
  }
  FormattedHeader formatted{LittleEndian(text.size()) + text, {}};
  formatted.header = {
      .entries = std::move(entries), .metadata = metadata, .data_start = formatted.bytes.size()};
  return formatted;
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
