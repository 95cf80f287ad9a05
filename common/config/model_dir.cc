#include "common/config/model_dir.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config/mistakes.h"

namespace weir {
namespace {

std::string Normal(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

}  // namespace

absl::Status CheckModelDir(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("is empty; write a directory");
  if (absl::StrContains(path, "://"))
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(path),
                     " is not a directory of this machine; mount it and write its "
                     "path"));
  if (absl::StrContains(path, absl::string_view("\0", 1)))
    return absl::InvalidArgumentError(absl::StrCat(Quoted(path), " has a zero byte"));
  return absl::OkStatus();
}

absl::StatusOr<std::string> MergeModelDir(const JobOptions& job, const TfConfig& config) {
  const std::string listed = config.model_dir.value_or("");
  Mistakes mistakes;
  if (job.model_dir.empty() && listed.empty()) {
    mistakes.Add("--model-dir",
                 "is missing; write --model-dir DIR, the same for every role (or "
                 "model_dir in TF_CONFIG)");
  } else if (!job.model_dir.empty() && !listed.empty() && Normal(job.model_dir) != Normal(listed)) {
    mistakes.Add("--model-dir",
                 absl::StrCat(Quoted(job.model_dir), " is not TF_CONFIG's model_dir ",
                              Quoted(listed), "; write one of them, or the same"));
  }
  if (!mistakes.empty()) return mistakes.ToStatus("weir run");
  return job.model_dir.empty() ? listed : job.model_dir;
}

}  // namespace weir
