#include "doctor/apart.h"

#include <signal.h>
#include <unistd.h>

#include "absl/time/clock.h"
#include "tests/unit/doctor/expect_check.h"

namespace weir::doctor {
namespace {

TEST(ExamineApartTest, BringsTheChecksBack) {
  int here = 0;
  const auto checks = ExamineApart("UCX", absl::Seconds(30), [&here] {
    here = 1;  // in the other process
    return std::vector{Ok("a", "b"), Fail("c", std::string(200'000, 'd'), "e")};
  });
  EXPECT_EQ(here, 0);
  ASSERT_EQ(checks.size(), 2);
  ExpectCheck(checks[0], Verdict::kOk, "b");
  ExpectCheck(checks[1], Verdict::kFail, std::string(200'000, 'd'));
}

TEST(ExamineApartTest, ACrashIsAFinding) {
  const auto checks = ExamineApart("UCX", absl::Seconds(30), []() -> std::vector<Check> {
    raise(SIGKILL);
    return {};
  });
  ASSERT_EQ(checks.size(), 1);
  EXPECT_EQ(checks[0].name, "UCX");
  ExpectCheck(checks[0], Verdict::kFail, "it crashed (Killed)");
}

TEST(ExamineApartTest, AnExitIsAFinding) {
  const auto checks =
      ExamineApart("UCX", absl::Seconds(30), []() -> std::vector<Check> { _exit(3); });
  ASSERT_EQ(checks.size(), 1);
  ExpectCheck(checks[0], Verdict::kFail, "it ended with 3");
}

TEST(ExamineApartTest, AHangEndsAtTheLimit) {
  const absl::Time start = absl::Now();
  const auto checks = ExamineApart("UCX", absl::Milliseconds(200), []() -> std::vector<Check> {
    while (true) pause();
  });
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
  ASSERT_EQ(checks.size(), 1);
  ExpectCheck(checks[0], Verdict::kFail, "no answer within 200ms");
}

}  // namespace
}  // namespace weir::doctor
