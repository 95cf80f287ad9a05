#include "common/checkpoint/checkpoint_directory.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/checkpoint_name.h"
#include "common/checkpoint/folder_removal.h"
#include "common/checkpoint/manifest.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

absl::Status CannotList(const std::string& model_dir, const std::error_code& error) {
  return WithExitCode(
      absl::ErrnoToStatus(error.value(),
                          absl::StrCat("cannot list the model directory ", model_dir)),
      ExitCode::kBadData);
}

// An error must not pass for "no manifest": a checkpoint that cannot be looked at just now would be
// pruned as a left-over, or an older one resumed from.
std::error_code Classify(const fs::directory_entry& entry, CheckpointFolders& folders) {
  const std::string path = entry.path().string();
  const std::optional<Step> step = StepOfCheckpointFolder(path);
  if (!step.has_value()) {
    LogDebug(path, " is not a checkpoint: ignored");
    return {};
  }
  std::error_code error;
  const fs::file_type folder = fs::status(path, error).type();
  if (folder == fs::file_type::not_found) return {};  // pruned meanwhile
  if (folder == fs::file_type::none) return error;
  if (folder != fs::file_type::directory) {
    LogDebug(path, " is not a checkpoint: ignored");
    return {};
  }
  const fs::file_type manifest = fs::status(entry.path() / kManifestFileName, error).type();
  if (manifest == fs::file_type::none) return error;
  CheckpointPath found{.path = path, .name = entry.path().filename().string(), .step = *step};
  if (manifest == fs::file_type::regular) {
    folders.complete.push_back(std::move(found));
    return {};
  }
  LogDebug(path, " has no manifest and so is not a checkpoint: ignored");
  folders.incomplete.push_back(std::move(found));
  return {};
}

}  // namespace

absl::StatusOr<CheckpointFolders> ScanModelDir(const std::string& model_dir) {
  CheckpointFolders folders;
  std::error_code error;
  fs::directory_iterator entries(model_dir, error);
  if (error == std::errc::no_such_file_or_directory) return folders;
  if (error) return CannotList(model_dir, error);
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    if (const std::error_code why = Classify(*entries, folders)) return CannotList(model_dir, why);
  }
  if (error) return CannotList(model_dir, error);
  std::ranges::sort(folders.complete, {}, &CheckpointPath::step);
  std::ranges::sort(folders.incomplete, {}, &CheckpointPath::step);
  return folders;
}

absl::StatusOr<std::vector<CheckpointPath>> ListCheckpoints(const std::string& model_dir) {
  WEIR_ASSIGN_OR_RETURN(CheckpointFolders folders, ScanModelDir(model_dir));
  return std::move(folders.complete);
}

absl::StatusOr<std::optional<CheckpointPath>> NewestCheckpoint(const std::string& model_dir) {
  WEIR_ASSIGN_OR_RETURN(std::vector<CheckpointPath> complete, ListCheckpoints(model_dir));
  if (complete.empty()) return std::optional<CheckpointPath>();
  return std::optional(std::move(complete.back()));
}

absl::StatusOr<std::optional<CheckpointPath>> FindFinal(const std::string& model_dir,
                                                        Step max_steps) {
  WEIR_ASSIGN_OR_RETURN(std::vector<CheckpointPath> complete, ListCheckpoints(model_dir));
  for (; !complete.empty() && complete.back().step >= max_steps; complete.pop_back()) {
    const absl::StatusOr<Manifest> manifest = ReadManifest(complete.back().path);
    if (absl::IsNotFound(manifest.status())) continue;  // pruned meanwhile
    WEIR_RETURN_IF_ERROR(manifest.status());
    if (manifest->is_final) return std::optional(std::move(complete.back()));
  }
  return std::optional<CheckpointPath>();
}

absl::Status RemoveIncomplete(const std::string& model_dir) {
  WEIR_ASSIGN_OR_RETURN(const CheckpointFolders folders, ScanModelDir(model_dir));
  absl::Status first;
  for (const CheckpointPath& folder : folders.incomplete)
    first.Update(RemoveCheckpoint(folder.path));
  return first;
}

absl::Status MarkFinal(const std::string& checkpoint) {
  WEIR_ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(checkpoint));
  if (manifest.is_final) return absl::OkStatus();
  manifest.is_final = true;
  return WriteManifest(checkpoint, manifest);
}

absl::Status Prune(const std::string& model_dir, int keep_max) {
  WEIR_ASSIGN_OR_RETURN(CheckpointFolders folders, ScanModelDir(model_dir));
  if (folders.complete.empty()) return absl::OkStatus();
  const Step newest = folders.complete.back().step;
  std::vector<CheckpointPath> doomed;
  if (keep_max > 0 && folders.complete.size() > static_cast<std::size_t>(keep_max)) {
    doomed.assign(folders.complete.begin(), folders.complete.end() - keep_max);
  }
  for (CheckpointPath& left : folders.incomplete) {
    if (left.step < newest) doomed.push_back(std::move(left));
  }
  absl::Status first;
  for (const CheckpointPath& checkpoint : doomed) first.Update(RemoveCheckpoint(checkpoint.path));
  return first;
}

}  // namespace weir
