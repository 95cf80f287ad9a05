#pragma once

#include <string>

#include "absl/status/status.h"

namespace weir {

/// Makes `model_dir` (and its parents) where missing, and proves that it can be written: a small
/// file is written, synchronised and removed. Errors (exit code 2): name the directory and what the
/// system said.
absl::Status CheckWritable(const std::string& model_dir);

/// Writes `nonce` into MODEL_DIR/.weir-nonce, for CheckNonce on other hosts. Errors: exit code 2.
absl::Status WriteNonce(const std::string& model_dir, const std::string& nonce);

/// Whether `model_dir` here is the directory that the chief wrote `nonce` into. A network file
/// system may show a new file some seconds late: the caller may ask again. Errors (exit code 2):
/// kFailedPrecondition where it is another one, or none.
absl::Status CheckNonce(const std::string& model_dir, const std::string& nonce);

}  // namespace weir
