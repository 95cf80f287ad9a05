#pragma once

#include "absl/status/statusor.h"
#include "bench/data/options.h"

namespace weir::bench {

/// `weir bench latency` and `weir bench bandwidth`: pushes and pulls of each size between processes
/// of their own. Rows go to stdout as they come, progress to stderr.
/// Returns the exit code: 1 when a value was wrong.
absl::StatusOr<int> RunDataBench(const DataBenchOptions& options);

}  // namespace weir::bench
