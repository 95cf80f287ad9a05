#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/checkpoint/checkpoint_directory.h"

namespace weir {

/// Calls `read` with the folder of a checkpoint of MODEL_DIR, for a reader beside a job that
/// prunes: where `read` fails and the checkpoint is no more, whatever the error and however far it
/// came, it is called again with the newest one. One that is still there and cannot be read is an
/// error: corruption is never stepped over. Returns the checkpoint that was read. Errors: those of
/// `read`; kCancelled of it ends this at once; kNotFound (exit code 3) where no checkpoint is left;
/// as ScanModelDir.
absl::StatusOr<CheckpointPath> ReadOrNewest(
    const std::string& model_dir, const std::string& name,
    absl::FunctionRef<absl::Status(const std::string& folder)> read);

}  // namespace weir
