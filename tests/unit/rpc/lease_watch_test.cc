#include "common/membership/lease_watch.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr absl::Duration kLease = absl::Seconds(5);
constexpr absl::Duration kTick = absl::Milliseconds(100);

/// Looks every tick from `from` on; the time of the first lapse.
absl::Time FirstLapse(LeaseWatch& watch, absl::Time from, absl::Time heard) {
  for (absl::Time now = from;; now += kTick)
    if (watch.Lapsed(now, heard)) return now;
}

TEST(LeaseWatch, LapsesALeaseAfterTheLastWord) {
  const absl::Time start = absl::FromUnixSeconds(100);
  LeaseWatch watch(kLease, start);
  const absl::Time lapse = FirstLapse(watch, start, start);
  EXPECT_GT(lapse, start + kLease);
  EXPECT_LE(lapse, start + kLease + kTick);
}

TEST(LeaseWatch, HoldsWhileTheChiefIsHeard) {
  absl::Time now = absl::FromUnixSeconds(100);
  LeaseWatch watch(kLease, now);
  for (int i = 0; i < 1000; ++i, now += kTick) EXPECT_FALSE(watch.Lapsed(now, now));
}

TEST(LeaseWatch, AStoppedProcessFirstReadsWhatArrived) {
  const absl::Time start = absl::FromUnixSeconds(100);
  LeaseWatch watch(kLease, start);
  EXPECT_FALSE(watch.Lapsed(start + kTick, start + kTick));
  const absl::Time woken = start + absl::Seconds(60);
  EXPECT_FALSE(watch.Lapsed(woken, start + kTick));
  EXPECT_FALSE(watch.Lapsed(woken + kTick, woken + kTick));  // a lease lay in the buffer
  const absl::Time lapse = FirstLapse(watch, woken + 2 * kTick, woken + kTick);
  EXPECT_LE(lapse, woken + kLease + 3 * kTick);
}

TEST(LeaseWatch, AStopIsForgivenOncePerSilence) {
  const absl::Time start = absl::FromUnixSeconds(100);
  LeaseWatch watch(kLease, start);
  absl::Time now = start;
  int looks = 0;
  while (!watch.Lapsed(now += kLease * 0.6, start)) ASSERT_LT(++looks, 5);
  EXPECT_LE(now, start + 2.4 * kLease);
}

}  // namespace
}  // namespace weir
