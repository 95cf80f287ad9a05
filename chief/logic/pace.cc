#include "chief/logic/pace.h"

#include <cmath>

namespace weir::chief {
namespace {

// Below it a rate is an accident of when one looks.
constexpr absl::Duration kLeastInterval = absl::Seconds(1);
// A change of pace counts for two thirds after this long: an estimate that jumps is of no use.
constexpr absl::Duration kMemory = absl::Seconds(15);
// Nobody plans with more, and the next to none that a stalled job's rate comes to is no rate.
constexpr absl::Duration kLongest = absl::Hours(24 * 365);

}  // namespace

void Pace::Observe(Step step, absl::Time now) {
  newest_ = step;
  if (at_ == absl::InfinitePast()) {
    step_ = step;
    at_ = now;
    return;
  }
  const absl::Duration passed = now - at_;
  if (passed < kLeastInterval) return;
  const double rate =
      static_cast<double>(step.value() - step_.value()) / absl::ToDoubleSeconds(passed);
  step_ = step;
  at_ = now;
  if (weights_ == 0.0 && rate == 0.0) return;  // waiting for the first step is no pace
  const double fading = std::exp(-absl::FDivDuration(passed, kMemory));
  weighted_ = fading * weighted_ + (1 - fading) * rate;
  weights_ = fading * weights_ + (1 - fading);
}

std::optional<absl::Duration> Pace::TimeTo(Step step) const {
  if (step <= newest_) return absl::ZeroDuration();
  if (weighted_ <= 0.0) return std::nullopt;
  const double rate = weighted_ / weights_;
  const double seconds = static_cast<double>(step.value() - newest_.value()) / rate;
  if (seconds > absl::ToDoubleSeconds(kLongest)) return std::nullopt;
  return absl::Seconds(seconds);
}

}  // namespace weir::chief
