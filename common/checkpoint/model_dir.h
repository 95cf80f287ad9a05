#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace weir {

/// Makes `model_dir` (and its parents) where missing, and proves that it can be written: a small
/// file is written, synchronised and removed. Errors (exit code 2): name the directory and what the
/// system said.
absl::Status CheckWritable(const std::string& model_dir);

/// Claims `model_dir` for one chief, for as long as the result lives or its process does: two jobs
/// in one directory would prune and resume from each other's checkpoints. Where the file system
/// cannot lock, it is taken as claimed. Errors (exit code 2): kAlreadyExists where another process
/// has claimed it; what the system says.
absl::StatusOr<UniqueFd> ClaimModelDir(const std::string& model_dir);

/// Writes `nonce` into MODEL_DIR/.weir-nonce, for CheckNonce on other hosts. Errors: exit code 2.
absl::Status WriteNonce(const std::string& model_dir, const std::string& nonce);

/// Whether `model_dir` here is the directory that the chief wrote `nonce` into. A network file
/// system may show a new file some seconds late: the caller may ask again. Errors (exit code 2):
/// kFailedPrecondition where it is another one, or none.
absl::Status CheckNonce(const std::string& model_dir, const std::string& nonce);

}  // namespace weir
