#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/local_summary.h"
#include "runtime/progress_line.h"

namespace weir {
namespace {

using ::testing::EndsWith;

TEST(ProgressLineTest, ShowsDashesUntilFiguresAreKnown) {
  wire::StatusReplyT status;
  status.phase = "training";
  status.max_steps = 14000;
  EXPECT_EQ(ProgressLine(status),
            "training  step 0/14000  loss --  -- steps/s  staleness p99 0  ETA --");
  status.global_step = 400;
  status.loss = 0.49724F;
  status.steps_per_second = 95.5F;
  status.staleness_p99 = 2;
  status.eta_seconds = 142;
  EXPECT_EQ(ProgressLine(status),
            "training  step 400/14000  loss 0.4972  95.5 steps/s  staleness p99 2  ETA 2m22s");
}

TEST(SummaryTableTest, EndsWithTheMostOfItOnOneLine) {
  const nlohmann::json summary = {
      {"job", "j"},
      {"global_step", 400},
      {"wall_seconds", 5.7},
      {"steps_per_second", 70.0},
      {"members",
       {{{"role", "chief"}, {"index", 0}, {"pid", 1}, {"exit_code", 0}, {"peak_rss_bytes", 2e7}},
        {{"role", "ps"}, {"index", 0}, {"pid", 2}, {"exit_code", 0}, {"peak_rss_bytes", 3e7}},
        {{"role", "ps"}, {"index", 1}, {"pid", 3}, {"exit_code", 0}, {"peak_rss_bytes", 4e7}},
        {{"role", "worker"},
         {"index", 0},
         {"pid", 4},
         {"exit_code", 9},
         {"peak_rss_bytes", nullptr}}}},
      {"paths", nlohmann::json::array()},
      {"staleness", {{"p50", 0}}},
      {"test_accuracy", 0.8044},
      {"checkpoint", "step-00000400"}};
  EXPECT_THAT(SummaryTable(summary.dump()),
              EndsWith("\nstep 400 in 5.7 s, 70.0 steps/s, accuracy 0.8044, peak memory chief "
                       "20.0 MB, ps 40.0 MB, checkpoint step-00000400\n"));
}

}  // namespace
}  // namespace weir
