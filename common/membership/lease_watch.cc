#include "common/membership/lease_watch.h"

#include <algorithm>
#include <utility>

namespace weir {

bool LeaseWatch::Lapsed(absl::Time now, absl::Time heard) {
  if (heard > last_heard_) {
    last_heard_ = heard;
    extra_ = absl::ZeroDuration();
  }
  const absl::Duration stopped = now - std::exchange(last_look_, now);
  if (stopped > lease_ / 2 && extra_ == absl::ZeroDuration()) {
    // Counted from now: the stop may have been longer than the lease.
    extra_ = std::max(absl::ZeroDuration(), now - last_heard_ - lease_) + lease_ / 2;
  }
  return now - last_heard_ > lease_ + extra_;
}

}  // namespace weir
