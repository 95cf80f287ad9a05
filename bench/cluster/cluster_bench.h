#pragma once

#include "absl/status/statusor.h"
#include "bench/cluster/options.h"

namespace weir::bench {

/// `weir bench cluster`: this process is the one worker of a job that chief and ps, wherever they
/// are, were started with: a job file whose tensors start as zeros, and --learning-rate 1. It takes
/// all steps of the job, pushes and pulls all its tensors in each, checks every value, and prints
/// the times. Returns the exit code. Errors: exit 2 for what cannot be measured, and as
/// weir::Client's.
absl::StatusOr<int> RunClusterBench(const ClusterBenchOptions& options);

}  // namespace weir::bench
