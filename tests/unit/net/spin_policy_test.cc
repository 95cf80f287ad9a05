#include "common/net/spin_policy.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace weir::net {
namespace {

constexpr absl::Duration kLimit = absl::Microseconds(100);
constexpr absl::Duration kShort = absl::Microseconds(20);
constexpr absl::Duration kLong = absl::Milliseconds(5);

class SpinPolicyTest : public ::testing::Test {
 protected:
  bool Polls() const { return policy_.SpinAt(now_) > absl::ZeroDuration(); }
  /// A wait that takes so long, as the policy has it polled or slept.
  void Wait(absl::Duration waited) {
    const bool polled = Polls();
    now_ += waited;
    policy_.OnWaitEnd(now_, waited, polled);
  }
  void Waits(int count, absl::Duration waited) {
    for (int i = 0; i < count; ++i) Wait(waited);
  }
  /// Goes on by `step` until it polls again, and returns how long that was.
  absl::Duration UntilItPolls(absl::Duration step = absl::Microseconds(100)) {
    const absl::Time start = now_;
    while (!Polls() && now_ < start + absl::Seconds(10)) now_ += step;
    return now_ - start;
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  SpinPolicy policy_{kLimit};
};

TEST_F(SpinPolicyTest, PollsUpToTheLimitAtFirstAndWhileWaitsAreShort) {
  EXPECT_EQ(policy_.SpinAt(now_), kLimit);
  Waits(100, kShort);
  EXPECT_EQ(policy_.SpinAt(now_), kLimit);
  Waits(10, kLimit);
  EXPECT_TRUE(Polls()) << "a wait that ends at the limit is found by polling";
}

TEST_F(SpinPolicyTest, WithoutALimitItNeverPolls) {
  SpinPolicy policy(absl::ZeroDuration());
  EXPECT_EQ(policy.SpinAt(now_), absl::ZeroDuration());
  policy.OnWaitEnd(now_, absl::ZeroDuration(), false);
  EXPECT_EQ(policy.SpinAt(now_), absl::ZeroDuration());
}

TEST_F(SpinPolicyTest, StopsWhenMostWaitsAreLong) {
  Waits(SpinPolicy::kRemembered / 2, kLong);
  EXPECT_TRUE(Polls());
  Wait(kLong);
  EXPECT_FALSE(Polls());
  // Idle for a day, and then seldom something: no rest has to end for that to stay so.
  now_ += absl::Hours(24);
  EXPECT_FALSE(Polls());
  Waits(100, absl::Milliseconds(50));
  EXPECT_FALSE(Polls());
}

TEST_F(SpinPolicyTest, OneLongWaitInABurstDoesNotStopIt) {
  for (int i = 0; i < 100; ++i) {
    Waits(3, kShort);
    Wait(kLong);
    EXPECT_TRUE(Polls());
  }
}

TEST_F(SpinPolicyTest, PollsAgainOnceSleptWaitsWereShort) {
  Waits(SpinPolicy::kRemembered, kLong);
  ASSERT_FALSE(Polls());
  Waits(SpinPolicy::kRemembered / 2 - 1, kShort);
  EXPECT_FALSE(Polls());
  Wait(kShort);
  EXPECT_TRUE(Polls());
}

TEST_F(SpinPolicyTest, RestsAfterCompetition) {
  policy_.OnCompetition(now_);
  EXPECT_FALSE(Polls());
  EXPECT_EQ(UntilItPolls(), SpinPolicy::kShortestRest);
}

TEST_F(SpinPolicyTest, RestsTwiceAsLongWhileCompetitionGoesOnUpToALimit) {
  absl::Duration expected = SpinPolicy::kShortestRest;
  for (int i = 0; i < 12; ++i) {
    policy_.OnCompetition(now_);
    EXPECT_EQ(UntilItPolls(), expected);
    expected = std::min(2 * expected, SpinPolicy::kLongestRest);
  }
  EXPECT_EQ(expected, SpinPolicy::kLongestRest);
}

TEST_F(SpinPolicyTest, CompetitionNowAndThenCostsTheShortestRest) {
  for (int i = 0; i < 10; ++i) {
    policy_.OnCompetition(now_);
    EXPECT_EQ(UntilItPolls(), SpinPolicy::kShortestRest);
    now_ += SpinPolicy::kRepeated * SpinPolicy::kShortestRest;
  }
}

// A core shared with the peer: while this side polls the peer cannot answer, and once it sleeps the
// answer is there soon. Waits that are slept look as if polling would pay; it does not.
TEST_F(SpinPolicyTest, ASharedCoreLosesLittleToTrials) {
  absl::Duration polled;
  const absl::Time start = now_;
  while (now_ < start + absl::Seconds(10)) {
    const absl::Duration spin = policy_.SpinAt(now_);
    polled += spin;
    Wait(spin + kShort);
  }
  EXPECT_LT(polled, absl::Milliseconds(100));
}

}  // namespace
}  // namespace weir::net
