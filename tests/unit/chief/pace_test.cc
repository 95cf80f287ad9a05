#include "chief/logic/pace.h"

#include <gtest/gtest.h>

namespace weir::chief {
namespace {

class PaceTest : public testing::Test {
 protected:
  // `steps` more, evenly over `seconds`, looked at ten times a second.
  void Run(int seconds, double steps_per_second) {
    for (int i = 0; i < seconds * 10; ++i) {
      now_ += absl::Milliseconds(100);
      steps_ += steps_per_second / 10;
      pace_.Observe(Step(static_cast<std::uint64_t>(steps_)), now_);
    }
  }
  double SecondsTo(std::uint64_t step) {
    return absl::ToDoubleSeconds(pace_.TimeTo(Step(step)).value_or(-absl::Seconds(1)));
  }

  Pace pace_;
  absl::Time now_ = absl::UnixEpoch();
  double steps_ = 0;
};

TEST_F(PaceTest, IsUnknownAtFirst) {
  pace_.Observe(Step(0), now_);
  EXPECT_EQ(pace_.TimeTo(Step(100)), std::nullopt);
  now_ += absl::Milliseconds(10);
  pace_.Observe(Step(3), now_);
  EXPECT_EQ(pace_.TimeTo(Step(100)), std::nullopt) << "three steps in a moment are no rate";
  EXPECT_EQ(pace_.TimeTo(Step(0)), absl::ZeroDuration());
}

TEST_F(PaceTest, FollowsASteadyRate) {
  Run(30, 10);
  EXPECT_NEAR(SecondsTo(1300), 100, 3);
  pace_.Observe(Step(1300), now_ + absl::Milliseconds(1));
  EXPECT_EQ(pace_.TimeTo(Step(1300)), absl::ZeroDuration());
}

TEST_F(PaceTest, GetsUsedToAChangeWithoutJumping) {
  Run(60, 100);
  const auto left_at = [this] { return static_cast<std::uint64_t>(steps_) + 1000; };
  Run(1, 50);
  EXPECT_GT(SecondsTo(left_at()), 10);
  EXPECT_LT(SecondsTo(left_at()), 12) << "one slow second is no slow job";
  Run(90, 50);
  EXPECT_NEAR(SecondsTo(left_at()), 20, 1);
}

TEST_F(PaceTest, KnowsNothingOfAStalledJob) {
  Run(30, 10);
  Run(600, 0);
  EXPECT_EQ(pace_.TimeTo(Step(100000)), std::nullopt);
}

TEST_F(PaceTest, AResumedJobsEarlierStepsAreNoPace) {
  steps_ = 5000;
  Run(1, 0);
  EXPECT_EQ(pace_.TimeTo(Step(6000)), std::nullopt);
  Run(20, 10);
  EXPECT_NEAR(SecondsTo(5300), 10, 1.5);
}

}  // namespace
}  // namespace weir::chief
