#pragma once

#include <cstdint>
#include <utility>

#include "absl/time/time.h"

namespace weir {

/// Counts something that may happen any number of times, and says when to log it: the first time at
/// once, then at most once a minute, so that whoever causes it fills no log. One thread.
class Occurrences {
 public:
  /// Counts one. How many to log now: all since the last time; 0: none now.
  std::uint64_t Add(absl::Time now) {
    ++unsaid_;
    if (now < next_) return 0;
    next_ = now + absl::Minutes(1);
    return std::exchange(unsaid_, 0);
  }

 private:
  absl::Time next_ = absl::InfinitePast();
  std::uint64_t unsaid_ = 0;
};

}  // namespace weir
