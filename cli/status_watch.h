#pragma once

#include "absl/status/statusor.h"
#include "cli/status_arguments.h"

namespace weir::cli {

/// Shows the job's status every `*arguments.watch`, and whenever its phase changes, until the job
/// ends. Returns 0 when it has ended, 130 or 143 after SIGINT or SIGTERM. Errors: a chief that
/// cannot be reached at first, as `weir status` tells it; one that disappears before the job's end
/// began, with exit code 4. Call before other threads start: it takes the two signals.
absl::StatusOr<int> WatchStatus(const StatusArguments& arguments);

}  // namespace weir::cli
