#pragma once

#include <optional>

#include "absl/time/time.h"
#include "common/base/ids.h"

namespace weir::chief {

/// How fast steps are completed, smoothed: for telling when a job will be done.
class Pace {
 public:
  /// As often as one likes; `step` never falls. The first call only starts the clock.
  void Observe(Step step, absl::Time now);

  /// None until steps have been seen for a second, and while none come.
  std::optional<absl::Duration> TimeTo(Step step) const;

 private:
  // A mean of rates (steps a second) whose weights fade with age, and the sum of the weights: so
  // the first second's rate counts no more than the second's.
  double weighted_ = 0.0;
  double weights_ = 0.0;
  Step newest_;
  Step step_;  // when it was last brought up to date
  absl::Time at_ = absl::InfinitePast();
};

}  // namespace weir::chief
