#pragma once

#include "absl/status/status.h"

namespace weir::cli {

/// Prints an error to stderr, once and without a stack of causes, and returns its exit code.
int Fail(const absl::Status& status);

}  // namespace weir::cli
