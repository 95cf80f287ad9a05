#pragma once

#include "absl/status/statusor.h"
#include "bench/train/options.h"

namespace weir::bench {

/// `weir bench train`: for every size of cluster, in turn and at one time each, as many trainers
/// without ps as there are workers, and the cluster. All are processes of this program. Rows go to
/// stdout as they come, progress to stderr.
/// Returns the exit code: 1 when a push was lost or applied twice, or a ratio is below the bar.
absl::StatusOr<int> RunTrainBench(const TrainBenchOptions& options);

}  // namespace weir::bench
