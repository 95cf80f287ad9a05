#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/ids.h"

namespace weir {

/// A complete checkpoint: a folder named by its step that has a manifest (which may be corrupt).
struct CheckpointPath {
  std::string path;  ///< MODEL_DIR/step-00001200
  std::string name;  ///< step-00001200
  Step step;
};

/// What a model directory holds, each by ascending step.
struct CheckpointFolders {
  std::vector<CheckpointPath> complete;
  std::vector<CheckpointPath> incomplete;  ///< without a manifest: being written, or left behind
};

/// Looks at names only. Anything else in `model_dir` is left out, and told to the debug log. A
/// `model_dir` that does not exist holds nothing.
/// Errors (exit code 3): `model_dir` cannot be read; absl::ErrnoToStatus's codes.
absl::StatusOr<CheckpointFolders> ScanModelDir(const std::string& model_dir);

/// The complete ones, by ascending step. Errors: as ScanModelDir.
absl::StatusOr<std::vector<CheckpointPath>> ListCheckpoints(const std::string& model_dir);

/// The complete one of the highest step, if any. Errors: as ScanModelDir.
absl::StatusOr<std::optional<CheckpointPath>> NewestCheckpoint(const std::string& model_dir);

/// The newest complete checkpoint that is marked final and has reached `max_steps`, if any.
/// Errors: as ScanModelDir; as ReadManifest for one at or beyond `max_steps`.
absl::StatusOr<std::optional<CheckpointPath>> FindFinal(const std::string& model_dir,
                                                        Step max_steps);

/// Removes what a run that died left behind: the incomplete ones, whatever their step. For a chief
/// that holds the directory's claim, before anybody writes. Goes on after an error and returns the
/// first.
absl::Status RemoveIncomplete(const std::string& model_dir);

/// Marks a complete checkpoint final, by replacing its manifest alone. Errors: as ReadManifest and
/// WriteManifest.
absl::Status MarkFinal(const std::string& checkpoint);

/// Keeps the `keep_max` newest complete checkpoints (0: all) and never removes the newest. Also
/// removes incomplete ones of a step below the newest complete one's. A manifest goes first, so
/// that whatever stops this, what remains is complete or not a checkpoint. Folders and files that
/// weir does not write are left alone. Goes on after an error and returns the first.
absl::Status Prune(const std::string& model_dir, int keep_max);

}  // namespace weir
