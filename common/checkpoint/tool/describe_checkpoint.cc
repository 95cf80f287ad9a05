#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/text_table.h"
#include "common/checkpoint/tool/describe.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

/// "ok", or what is wrong with a listed file.
std::string FileState(const std::string& checkpoint, const ManifestFile& file) {
  struct stat info;
  const std::string path = absl::StrCat(checkpoint, "/", file.file);
  if (stat(path.c_str(), &info) != 0) return errno == ENOENT ? "missing" : std::strerror(errno);
  const auto found = static_cast<std::uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode)) return "not a file";
  if (found == file.bytes) return "ok";
  return absl::StrCat(found < file.bytes ? "truncated" : "too long", ": found ", found, " bytes");
}

std::int64_t Parameters(const Manifest& manifest) {
  std::int64_t elements = 0;
  for (const TensorSpec& tensor : manifest.tensors) elements += tensor.elements();
  return elements;
}

std::string Head(const std::string& checkpoint, const Manifest& manifest) {
  std::string optimizer = manifest.optimizer;
  for (const std::string& slot : manifest.optimizer_slots) absl::StrAppend(&optimizer, " +", slot);
  return TextTable(Rows{{"checkpoint", checkpoint},
                        {"job", manifest.job},
                        {"step", absl::StrCat(manifest.step.value())},
                        {"final", manifest.is_final ? "yes" : "no"},
                        {"created", absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", manifest.created,
                                                     absl::UTCTimeZone())},
                        {"optimizer", optimizer},
                        {"shards", absl::StrCat(manifest.shards)},
                        {"parameters", absl::StrCat(Parameters(manifest))},
                        {"bytes", absl::StrCat(StoredBytes(manifest))}},
                   0);
}

std::string AsText(const std::string& checkpoint, const Manifest& manifest,
                   const std::vector<std::string>& states) {
  Rows tensors = {{"tensor", "dtype", "shape", "elements"}};
  for (const TensorSpec& tensor : manifest.tensors) {
    tensors.push_back({absl::Utf8SafeCHexEscape(tensor.name), "F32", ShapeText(tensor.shape),
                       absl::StrCat(tensor.elements())});
  }
  Rows files = {{"file", "bytes", "entries", "state"}};
  for (std::size_t i = 0; i < states.size(); ++i) {
    const ManifestFile& file = manifest.files[i];
    files.push_back(
        {file.file, absl::StrCat(file.bytes), absl::StrCat(file.entries.size()), states[i]});
  }
  return absl::StrCat(Head(checkpoint, manifest), "\n", TextTable(tensors, 0b1000), "\n",
                      TextTable(files, 0b110));
}

json AsJson(const std::string& checkpoint, const Manifest& manifest,
            const std::vector<std::string>& states) {
  json tensors = json::array();
  for (const TensorSpec& tensor : manifest.tensors) {
    tensors.push_back({{"name", tensor.name}, {"dtype", "F32"}, {"shape", tensor.shape}});
  }
  json files = json::array();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const ManifestFile& file = manifest.files[i];
    files.push_back({{"file", file.file},
                     {"bytes", file.bytes},
                     {"entries", file.entries.size()},
                     {"state", states[i]}});
  }
  return {
      {"checkpoint", checkpoint},
      {"job", manifest.job},
      {"step", manifest.step.value()},
      {"final", manifest.is_final},
      {"created", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", manifest.created, absl::UTCTimeZone())},
      {"optimizer", {{"name", manifest.optimizer}, {"slots", manifest.optimizer_slots}}},
      {"shards", manifest.shards},
      {"parameters", Parameters(manifest)},
      {"bytes", StoredBytes(manifest)},
      {"tensors", std::move(tensors)},
      {"files", std::move(files)}};
}

}  // namespace

Report DescribeCheckpoint(const std::string& checkpoint, ReportFormat format) {
  const absl::StatusOr<Manifest> manifest = ReadManifest(checkpoint);
  if (!manifest.ok()) return {"", manifest.status()};
  Report result;
  std::vector<std::string> states;
  for (const ManifestFile& file : manifest->files) {
    const std::string& state = states.emplace_back(FileState(checkpoint, file));
    if (state == "ok") continue;
    result.status.Update(
        WithExitCode(absl::DataLossError(absl::StrCat(checkpoint, "/", file.file, ": expected ",
                                                      file.bytes, " bytes: ", state)),
                     ExitCode::kBadData));
  }
  result.text = format == ReportFormat::kJson ? JsonReport(AsJson(checkpoint, *manifest, states))
                                              : AsText(checkpoint, *manifest, states);
  return result;
}

}  // namespace weir
