#include "common/net/spin_policy.h"

#include <algorithm>
#include <bit>

namespace weir::net {

absl::Duration SpinPolicy::SpinAt(absl::Time now) const {
  return pays() && now >= rests_until_ ? longest_ : absl::ZeroDuration();
}

void SpinPolicy::OnWaitEnd(absl::Time now, absl::Duration waited, bool polled) {
  short_waits_ = static_cast<std::uint8_t>(short_waits_ << 1U | (waited <= longest_ ? 1U : 0U));
  if (polled && !pays()) Rest(now);
}

bool SpinPolicy::pays() const { return std::popcount(short_waits_) * 2 >= kRemembered; }

void SpinPolicy::Rest(absl::Time now) {
  const bool again = now < rests_until_ + kRepeated * rest_;
  rest_ = again ? std::min(2 * rest_, kLongestRest) : kShortestRest;
  rests_until_ = now + rest_;
}

}  // namespace weir::net
