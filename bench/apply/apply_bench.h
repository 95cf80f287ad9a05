#pragma once

#include "absl/status/statusor.h"
#include "bench/apply/options.h"

namespace weir::bench {

/// `weir bench apply`: the optimizer's kernel beside a plain triad loop, by size and number of
/// threads. Rows go to stdout as they come, progress to stderr.
/// Returns the exit code: 1 when a weight was wrong.
absl::StatusOr<int> RunApplyBench(const ApplyBenchOptions& options);

}  // namespace weir::bench
