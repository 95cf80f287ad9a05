#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "bench/train/options.h"
#include "worker/training/phase_times.h"

namespace weir::bench {

/// What training without a parameter server took.
struct AloneResult {
  std::uint64_t steps = 0;
  double seconds = 0;  ///< from the first step's start to the last one's end, data ready
  float final_loss = 0;
  PhaseTimes phases;  ///< pull is nothing; push is the optimizer, which here is the worker's

  std::string ToJson() const;
  static absl::StatusOr<AloneResult> FromJson(const std::string& text);
};

/// The same training as a worker's, without any parameter server: the same job, data share, model
/// and optimizer kernel, in one process on one pinned CPU. It is the control of `weir bench train`.
absl::StatusOr<AloneResult> TrainAlone(const AloneOptions& options);

}  // namespace weir::bench
