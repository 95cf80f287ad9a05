#include "bench/train/report.h"

#include <nlohmann/json.hpp>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::bench {
namespace {

using ::testing::HasSubstr;

std::string SummaryOf(int acknowledged, int applied, int lost) {
  return nlohmann::json{
      {"steps_per_second", 20.0},
      {"pushes", {{"acknowledged", acknowledged}, {"applied", applied}, {"lost", lost}}},
      {"staleness", {{"p50", 1}}},
      {"phases",
       {{{"steps", 30}, {"forward_seconds", 0.3}, {"push_seconds", 0.06}},
        {{"steps", 10}, {"forward_seconds", 0.5}, {"push_seconds", 0.02}}}}}
      .dump();
}

TEST(RunOfSummaryTest, PhasesAreOfTheAverageStepOfAllWorkers) {
  const auto run = RunOfSummary(SummaryOf(40, 40, 0), 40);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->steps_per_second, 20.0);
  EXPECT_EQ(run->step.forward, absl::Milliseconds(20));
  EXPECT_EQ(run->step.push, absl::Milliseconds(2));
  EXPECT_EQ(run->wrong, 0U);
}

TEST(RunOfSummaryTest, LostMissingAndRepeatedPushesAreWrong) {
  EXPECT_EQ(RunOfSummary(SummaryOf(40, 40, 1), 40)->wrong, 1U);
  EXPECT_EQ(RunOfSummary(SummaryOf(38, 40, 0), 40)->wrong, 2U);
  EXPECT_EQ(RunOfSummary(SummaryOf(40, 43, 0), 40)->wrong, 3U);
}

TEST(RunOfSummaryTest, RefusesWhatIsNoSummary) {
  EXPECT_FALSE(RunOfSummary("", 1).ok());
  EXPECT_FALSE(RunOfSummary("{}", 1).ok());
  EXPECT_FALSE(RunOfSummary(R"({"phases": []})", 1).ok());
}

Pair PairOf(double alone, double weir) {
  return {.alone = {.steps_per_second = alone}, .weir = {.steps_per_second = weir}};
}

TEST(RowTest, TheMedianOfTheRatiosIsNotTheRatioOfTheMedians) {
  const Row row{.pairs = {PairOf(10, 9), PairOf(20, 10), PairOf(40, 32)}};
  EXPECT_DOUBLE_EQ(row.median_ratio(), 0.8);
  EXPECT_THAT(RowText(row), HasSubstr("medians alone 20.00, weir 10.00 steps/s, ratio 0.800"));
  EXPECT_THAT(RowText(row), HasSubstr("(0.500 to 0.900)"));
}

TEST(RowTest, OfAnEvenNumberTheMiddleOfTheTwo) {
  const Row row{.pairs = {PairOf(10, 9), PairOf(10, 7)}};
  EXPECT_DOUBLE_EQ(row.median_ratio(), 0.8);
}

TEST(ReportJsonTest, HasEveryPair) {
  const Row row{.size = {.ps = 2, .workers = 3}, .pairs = {PairOf(10, 9), PairOf(10, 8)}};
  const auto json = nlohmann::json::parse(ReportJson({.steps = 5}, {row}));
  EXPECT_EQ(json["steps"], 5);
  EXPECT_EQ(json["rows"][0]["workers"], 3);
  EXPECT_EQ(json["rows"][0]["pairs"][1]["weir"]["steps_per_second"], 8.0);
}

}  // namespace
}  // namespace weir::bench
