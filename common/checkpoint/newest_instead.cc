#include "common/checkpoint/newest_instead.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/checkpoint_name.h"
#include "common/checkpoint/manifest.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

/// Pruning removes the manifest first. What cannot be looked at counts as there: the reader's own
/// error says more.
bool IsGone(const std::string& folder) {
  std::error_code error;
  const auto type =
      std::filesystem::status(absl::StrCat(folder, "/", kManifestFileName), error).type();
  return type == std::filesystem::file_type::not_found;
}

}  // namespace

absl::StatusOr<CheckpointPath> ReadOrNewest(
    const std::string& model_dir, const std::string& name,
    absl::FunctionRef<absl::Status(const std::string& folder)> read) {
  CheckpointPath at{.path = absl::StrCat(model_dir, "/", name),
                    .name = name,
                    .step = StepOfCheckpointFolder(name).value_or(Step(0))};
  while (true) {
    const absl::Status status = read(at.path);
    if (status.ok()) return at;
    if (absl::IsCancelled(status) || !IsGone(at.path)) return status;
    WEIR_ASSIGN_OR_RETURN(std::optional<CheckpointPath> newest, NewestCheckpoint(model_dir));
    // Some network file systems list what is gone for a while: not to be tried for ever.
    if (!newest.has_value() || newest->name == at.name) {
      return WithExitCode(
          absl::NotFoundError(absl::StrCat("checkpoint ", at.path,
                                           " is gone, and no other is left in ", model_dir)),
          ExitCode::kBadData);
    }
    LogInfo(at.name, " was pruned before it was read: ", newest->name, " instead");
    at = *std::move(newest);
  }
}

}  // namespace weir
