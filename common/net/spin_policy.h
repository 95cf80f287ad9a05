#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace weir::net {

/// Whether a wait polls for a while before it sleeps: only while recent waits were short enough for
/// that to pay, and nobody else wants this core. Pure: it is told what happened, and reads no
/// clock.
///
/// A wait that is found by polling ends some 10 us sooner than one that has to be woken; a wait
/// that is not costs what was polled. So the last kRemembered waits decide, polled or slept alike:
/// half of them must have ended within the limit. Where polling stops paying, or is in somebody's
/// way, it rests, each time twice as long while that goes on; so a core that is shared loses less
/// than a hundredth of its time to trials.
class SpinPolicy {
 public:
  static constexpr int kRemembered = 8;
  static constexpr absl::Duration kShortestRest = absl::Milliseconds(1);
  static constexpr absl::Duration kLongestRest = absl::Milliseconds(256);
  /// A rest that comes within so many lengths of the last one after its end is longer than it.
  static constexpr int kRepeated = 8;

  /// `longest` is the limit; zero: never polls.
  explicit SpinPolicy(absl::Duration longest) : longest_(longest) {}

  /// How long a wait that begins at `now` polls; then it sleeps.
  absl::Duration SpinAt(absl::Time now) const;

  /// A wait ended with work to do, `waited` after its begin. `polled`: it had polled, in vain or
  /// not.
  void OnWaitEnd(absl::Time now, absl::Duration waited, bool polled);
  /// Somebody else ran, or wanted to run, on the core that was polling.
  void OnCompetition(absl::Time now) { Rest(now); }

 private:
  bool pays() const;
  void Rest(absl::Time now);

  absl::Duration longest_;
  std::uint8_t short_waits_ = 0xff;  // a bit for each of the last waits, the latest lowest
  absl::Duration rest_ = kShortestRest;
  absl::Time rests_until_ = absl::InfinitePast();
};

}  // namespace weir::net
