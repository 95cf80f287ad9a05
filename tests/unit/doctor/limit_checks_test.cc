#include "doctor/limit_checks.h"

#include "tests/unit/doctor/expect_check.h"

namespace weir::doctor {
namespace {

TEST(OpenFilesTest, GrowWithTheCluster) {
  ExpectCheck(CheckOpenFiles(1024, 4096, 3), Verdict::kOk, "needs about 28");
  ExpectCheck(CheckOpenFiles(256, 4096, 3), Verdict::kWarn, "limit 256");
  ExpectCheck(CheckOpenFiles(1024, 4096, 900), Verdict::kWarn, "needs about 925");
  ExpectCheck(CheckOpenFiles(1024, 4096, 1000), Verdict::kFail, "needs about 1025");
  ExpectCheck(CheckOpenFiles(16, 16, 1), Verdict::kFail, "limit 16");
}

TEST(OpenFilesTest, SaysWhenOnlyRootCanRaiseTheLimit) {
  EXPECT_THAT(CheckOpenFiles(16, 16, 1).fix, testing::HasSubstr("as root"));
  EXPECT_THAT(CheckOpenFiles(16, 1048576, 1).fix, testing::Not(testing::HasSubstr("as root")));
}

TEST(PtraceTest, EachLevel) {
  ExpectCheck(CheckPtrace(std::nullopt), Verdict::kOk, "no Yama");
  ExpectCheck(CheckPtrace("0"), Verdict::kOk, "not restricted");
  ExpectCheck(CheckPtrace("1"), Verdict::kOk, "own children only");
  ExpectCheck(CheckPtrace("2"), Verdict::kWarn, "no debugger");
  ExpectCheck(CheckPtrace("3"), Verdict::kWarn, "no debugger");
  EXPECT_THAT(CheckPtrace("3").fix, testing::HasSubstr("next boot"));
  ExpectCheck(CheckPtrace("on"), Verdict::kWarn, "unknown");
}

}  // namespace
}  // namespace weir::doctor
