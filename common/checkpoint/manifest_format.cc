#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/strict_json.h"
#include "common/checkpoint/manifest.h"

namespace weir {
namespace {

/// A list with a line for each item.
std::string Lines(const std::vector<std::string>& items, absl::string_view indent) {
  if (items.empty()) return "[]";
  const std::string separator = absl::StrCat(",\n", indent, " ");
  return absl::StrCat("[\n", indent, " ", absl::StrJoin(items, separator), "\n", indent, "]");
}

absl::StatusOr<std::string> FormatTensor(const TensorSpec& tensor) {
  WEIR_ASSIGN_OR_RETURN(const std::string name, QuoteJson(tensor.name));
  return absl::StrCat("{\"name\": ", name, ", \"dtype\": \"F32\", \"shape\": [",
                      absl::StrJoin(tensor.shape, ", "), "]}");
}

absl::StatusOr<std::string> FormatFile(const ManifestFile& file) {
  std::vector<std::string> entries;
  for (const ManifestEntry& entry : file.entries) {
    WEIR_ASSIGN_OR_RETURN(const std::string tensor, QuoteJson(entry.tensor));
    entries.push_back(absl::StrCat("{\"tensor\": ", tensor, ", \"offset\": ", entry.offset,
                                   ", \"elements\": ", entry.elements, ", \"checksum\": \"",
                                   absl::Hex(entry.checksum, absl::kZeroPad16), "\"}"));
  }
  WEIR_ASSIGN_OR_RETURN(const std::string name, QuoteJson(file.file));
  return absl::StrCat("{\"file\": ", name, ", \"bytes\": ", file.bytes, ", \"worker_clocks\": [",
                      absl::StrJoin(file.worker_clocks, ", "),
                      "],\n   \"entries\": ", Lines(entries, "   "), "}");
}

absl::StatusOr<std::string> FormatOptimizer(const Manifest& manifest) {
  std::vector<std::string> slots;
  for (const std::string& slot : manifest.optimizer_slots) {
    WEIR_ASSIGN_OR_RETURN(slots.emplace_back(), QuoteJson(slot));
  }
  WEIR_ASSIGN_OR_RETURN(const std::string name, QuoteJson(manifest.optimizer));
  return absl::StrCat("{\"name\": ", name, ", \"slots\": [", absl::StrJoin(slots, ", "), "]}");
}

}  // namespace

absl::StatusOr<std::string> FormatManifest(const Manifest& manifest) {
  WEIR_RETURN_IF_ERROR(ValidateManifest(manifest));
  std::vector<std::string> tensors;
  for (const TensorSpec& tensor : manifest.tensors) {
    WEIR_ASSIGN_OR_RETURN(tensors.emplace_back(), FormatTensor(tensor));
  }
  std::vector<std::string> files;
  for (const ManifestFile& file : manifest.files) {
    WEIR_ASSIGN_OR_RETURN(files.emplace_back(), FormatFile(file));
  }
  WEIR_ASSIGN_OR_RETURN(const std::string job, QuoteJson(manifest.job));
  WEIR_ASSIGN_OR_RETURN(const std::string optimizer, FormatOptimizer(manifest));
  const std::string created =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", manifest.created, absl::UTCTimeZone());
  return absl::StrCat(
      "{\"format\": \"weir-checkpoint\",\n \"version\": ", kManifestVersion, ",\n \"job\": ", job,
      ",\n \"step\": ", manifest.step.value(),
      ",\n \"final\": ", manifest.is_final ? "true" : "false", ",\n \"created\": \"", created,
      "\",\n \"chief_incarnation\": \"", absl::Hex(manifest.chief.value(), absl::kZeroPad16),
      "\",\n \"optimizer\": ", optimizer, ",\n \"shards\": ", manifest.shards,
      ",\n \"tensors\": ", Lines(tensors, " "), ",\n \"files\": ", Lines(files, " "), "}\n");
}

}  // namespace weir
