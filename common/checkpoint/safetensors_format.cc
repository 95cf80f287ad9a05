#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/strict_json.h"
#include "common/checkpoint/safetensors.h"
#include "common/checkpoint/safetensors_dtype.h"
#include "common/model/tensor_name.h"

namespace weir {
namespace {

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
  std::string text = absl::StrCat("\"", kSafetensorsMetadataKey, "\":{");
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
    if (entry.name.empty() || entry.name == kSafetensorsMetadataKey ||
        !names.insert(entry.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry ", QuotedName(entry.name), ": an empty, reserved or duplicate name"));
    }
    const absl::StatusOr<std::uint64_t> bytes = SafetensorsBytes(entry.dtype, entry.shape);
    if (!bytes.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry ", QuotedName(entry.name), ": ", bytes.status().message()));
    }
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
    return absl::InvalidArgumentError(absl::StrCat(
        "the header of ", entries.size(), " entries takes ", text.size(),
        " bytes; the format allows ", kMaxSafetensorsHeaderBytes, ": use more shards"));
  }
  FormattedHeader formatted{LittleEndian(text.size()) + text, {}};
  formatted.header = {
      .entries = std::move(entries), .metadata = metadata, .data_start = formatted.bytes.size()};
  return formatted;
}

}  // namespace weir
