#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/apply/apply_run.h"
#include "bench/apply/options.h"
#include "bench/apply/report.h"
#include "bench/apply/triad.h"
#include "common/base/cpu.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::bench {
namespace {

using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

TEST(ApplyBenchOptionsTest, AllMistakesAtOnce) {
  const auto options =
      ParseApplyBench(Arguments{"--sizes=6", "--threads=1,3", "--cpus=0,1", "--iters=0", "x"});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(ExitCodeOf(options.status()), ExitCode::kBadUsage);
  for (const char* part :
       {"--sizes", "--threads: has 3, but there are 2 CPUs", "--iters", "\"x\""}) {
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(part));
  }
}

TEST(TriadTest, IsAPlusFactorTimesBForEveryLength) {
  for (const std::size_t elements : {0, 1, 15, 16, 17, 1000}) {
    std::vector<float> a(elements), b(elements), to(elements, -1.0F);
    for (std::size_t i = 0; i < elements; ++i) {
      a[i] = static_cast<float>(i);
      b[i] = static_cast<float>(2 * i);
    }
    Triad(a, b, 0.5F, to);
    for (std::size_t i = 0; i < elements; ++i) EXPECT_EQ(to[i], static_cast<float>(2 * i));
  }
}

TEST(ApplyRunTest, EveryThreadTimesBothLoopsAndNoWeightIsWrong) {
  const int cpu = AllowedCpus().front();
  // More than one block, and no whole number of them.
  const auto times = TimeApply({.size = 500'004, .cpus = {cpu, cpu}, .iters = 7});
  ASSERT_TRUE(times.ok()) << times.status();
  ASSERT_EQ(times->size(), 2U);
  for (const ApplyTimes& thread : *times) {
    EXPECT_EQ(thread.sgd.size(), 7U);
    EXPECT_EQ(thread.triad.size(), 7U);
    EXPECT_EQ(thread.wrong, 0U);
  }
}

TEST(ApplyRunTest, ACpuThatMayNotBeUsedEndsAllThreads) {
  const auto times = TimeApply({.size = 8, .cpus = {AllowedCpus().front(), 1023}, .iters = 5});
  ASSERT_FALSE(times.ok());
  EXPECT_EQ(ExitCodeOf(times.status()), ExitCode::kBadUsage);
  EXPECT_THAT(std::string(times.status().message()), HasSubstr("CPU 1023"));
}

TEST(ApplyReportTest, ThreadsAddUpAndAreComparedWithTheFirst) {
  std::vector<ApplyRow> rows;
  // 1 MB in 100 us is 30 GB/s of three streams; in 200 us 15.
  const ApplyTimes thread{.sgd = {100'000}, .triad = {200'000}};
  AddRows({.size = 1'000'000, .cpus = {0}, .iters = 1}, std::vector{thread}, rows);
  AddRows({.size = 1'000'000, .cpus = {0, 1}, .iters = 1}, std::vector{thread, thread}, rows);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_DOUBLE_EQ(rows[0].gbytes_per_s, 30);
  EXPECT_DOUBLE_EQ(rows[0].ratio, 2);
  EXPECT_DOUBLE_EQ(rows[0].speedup, 1);
  EXPECT_DOUBLE_EQ(rows[2].gbytes_per_s, 60);
  EXPECT_DOUBLE_EQ(rows[2].speedup, 2);
  EXPECT_EQ(rows[3].op, "triad");
  EXPECT_DOUBLE_EQ(rows[3].gbytes_per_s, 30);
  EXPECT_EQ(VerdictOn(rows), ExitCode::kDone);
  rows[2].wrong = 1;
  EXPECT_EQ(VerdictOn(rows), ExitCode::kFailed);
  const auto json = nlohmann::json::parse(ReportJson({.cpus = {0, 1}}, rows));
  EXPECT_EQ(json["bench"], "apply");
  EXPECT_EQ(json["rows"][2]["threads"], 2);
  EXPECT_EQ(json["rows"][2]["wrong"], 1);
}

}  // namespace
}  // namespace weir::bench
