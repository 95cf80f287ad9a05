#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/checkpoint/checkpoint_directory.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/text_table.h"
#include "common/checkpoint/tool/describe.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using nlohmann::json;

struct Listed {
  CheckpointPath at;
  absl::StatusOr<Manifest> manifest;
};

std::string Created(const Manifest& manifest, absl::string_view format) {
  return absl::FormatTime(format, manifest.created, absl::UTCTimeZone());
}

std::string AsText(const std::vector<Listed>& all) {
  std::vector<std::vector<std::string>> rows = {
      {"checkpoint", "step", "final", "shards", "bytes", "created", "job"}};
  for (const auto& [at, manifest] : all) {
    const std::string step = absl::StrCat(at.step.value());
    if (manifest.ok()) {
      rows.push_back({at.name, step, manifest->is_final ? "yes" : "no",
                      absl::StrCat(manifest->shards), absl::StrCat(StoredBytes(*manifest)),
                      Created(*manifest, "%Y-%m-%d %H:%M:%S UTC"), manifest->job});
    } else {
      rows.push_back({at.name, step, "?", "?", "?", "?", "corrupt"});
    }
  }
  return TextTable(rows, 0b11010);
}

json AsJson(const std::vector<Listed>& all) {
  json list = json::array();
  for (const auto& [at, manifest] : all) {
    json row = {{"checkpoint", at.name}, {"path", at.path}, {"step", at.step.value()}};
    if (manifest.ok()) {
      row.update({{"final", manifest->is_final},
                  {"shards", manifest->shards},
                  {"bytes", StoredBytes(*manifest)},
                  {"created", Created(*manifest, "%Y-%m-%dT%H:%M:%SZ")},
                  {"job", manifest->job}});
    } else {
      row["error"] = std::string(manifest.status().message());
    }
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace

Report DescribeModelDir(const std::string& model_dir, ReportFormat format) {
  struct stat info;
  if (stat(model_dir.c_str(), &info) != 0) {
    return {"",
            WithExitCode(absl::ErrnoToStatus(
                             errno, absl::StrCat("cannot read the model directory ", model_dir)),
                         ExitCode::kBadData)};
  }
  absl::StatusOr<std::vector<CheckpointPath>> checkpoints = ListCheckpoints(model_dir);
  if (!checkpoints.ok()) return {"", checkpoints.status()};
  Report result;
  std::vector<Listed> all;
  for (CheckpointPath& checkpoint : *checkpoints) {
    absl::StatusOr<Manifest> manifest = ReadManifest(checkpoint.path);
    result.status.Update(manifest.status());
    all.push_back({std::move(checkpoint), std::move(manifest)});
  }
  result.text = format == ReportFormat::kJson ? JsonReport(AsJson(all))
                : all.empty()                 ? absl::StrCat("no checkpoints in ", model_dir, "\n")
                                              : AsText(all);
  return result;
}

}  // namespace weir
