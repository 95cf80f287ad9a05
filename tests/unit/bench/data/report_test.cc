#include "bench/data/report.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "common/version/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::bench {
namespace {

using ::testing::HasSubstr;

std::vector<std::uint64_t> OneTo(std::uint64_t most) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = most; value >= 1; --value) values.push_back(value * 1000);
  return values;
}

std::vector<Samples> Once(std::vector<std::uint64_t> nanoseconds, std::uint64_t wrong = 0) {
  return {{.nanoseconds = std::move(nanoseconds), .wrong = wrong}};
}

TEST(DistributionTest, PercentilesAreSamples) {
  const Distribution of_1000 = DistributionOf(OneTo(1000));
  EXPECT_EQ(of_1000.count, 1000U);
  EXPECT_EQ(of_1000.p50_us, 500);
  EXPECT_EQ(of_1000.p99_us, 990);
  EXPECT_EQ(of_1000.p999_us, 999);
  EXPECT_EQ(of_1000.max_us, 1000);
  EXPECT_EQ(of_1000.mean_us, 500.5);
  const Distribution of_3 = DistributionOf(OneTo(3));
  EXPECT_EQ(of_3.p50_us, 2);
  EXPECT_EQ(of_3.p999_us, 3);
  EXPECT_EQ(DistributionOf({}).max_us, 0);
}

TEST(SamplesTest, SurviveTheirLine) {
  const auto read = Samples::FromJson(Samples{.nanoseconds = {3, 1, 2}, .wrong = 4}.ToJson());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->nanoseconds, (std::vector<std::uint64_t>{3, 1, 2}));
  EXPECT_EQ(read->wrong, 4U);
}

TEST(SamplesTest, OtherLinesAreRefused) {
  for (const char* line : {"", "{}", "[]", R"({"ns":[1]})", R"({"ns":[-1],"wrong":0})",
                           R"({"ns":["1"],"wrong":0})", R"({"ns":[1],"wrong":-1})"}) {
    EXPECT_FALSE(Samples::FromJson(line).ok()) << line;
  }
}

TEST(DataRowTest, RatesAreOfAllWorkersAndTheWholeWindow) {
  // Two workers' windows of 8 operations, 100 us each.
  const DataRow row = RowOf("push", 1'000'000, 8, 2, Once({100'000, 100'000}));
  EXPECT_DOUBLE_EQ(row.ops_per_s, 160'000);
  EXPECT_DOUBLE_EQ(row.gbytes_per_s, 160);
  EXPECT_EQ(row.time.count, 2U);
}

TEST(DataRowTest, RoundsAreMergedAndComparedOneByOne) {
  const std::vector<Samples> rounds = {{.nanoseconds = {1000, 3000, 2000}, .wrong = 1},
                                       {.nanoseconds = {8000, 8000, 9000}, .wrong = 2},
                                       {.nanoseconds = {3000, 3000, 3000}}};
  DataRow row = RowOf("push", 8, 1, 1, rounds);
  EXPECT_EQ(row.time.count, 9U);
  EXPECT_EQ(row.p50_us(), 3) << "of all nine, not of the rounds' three";
  EXPECT_EQ(row.round_p50_us, (std::vector<double>{2, 8, 3}));
  EXPECT_EQ(row.wrong, 3U);
  // The machine was slow in the second round, for both: that changes no ratio.
  const std::vector<Samples> controls = {
      {.nanoseconds = {1000}}, {.nanoseconds = {4000}}, {.nanoseconds = {1000}}};
  Compare(RowOf("control_am", 8, 1, 1, controls), row);
  EXPECT_EQ(row.control, "control_am");
  EXPECT_EQ(row.ratio, 2);
  EXPECT_EQ(row.ratio_least, 2);
  EXPECT_EQ(row.ratio_most, 3);
}

TEST(DataRowTest, OfTwoRoundsTheRatioIsTheMean) {
  const std::vector<Samples> rounds = {{.nanoseconds = {1000}}, {.nanoseconds = {2000}}};
  const std::vector<Samples> controls = {{.nanoseconds = {1000}}, {.nanoseconds = {1000}}};
  DataRow row = RowOf("pull", 8, 1, 1, rounds);
  Compare(RowOf("control_get", 8, 1, 1, controls), row);
  EXPECT_EQ(row.ratio, 1.5);
}

TEST(VerdictTest, OneWrongElementFailsTheRun) {
  std::vector<DataRow> rows = {RowOf("push", 8, 1, 1, Once({1000})),
                               RowOf("pull", 8, 1, 1, Once({1000}))};
  EXPECT_EQ(VerdictOn(rows), ExitCode::kDone);
  EXPECT_EQ(ResultLine(rows), "# result OK (wrong 0)\n");
  rows[1].wrong = 1;
  EXPECT_EQ(VerdictOn(rows), ExitCode::kFailed);
  EXPECT_EQ(ResultLine(rows), "# result FAILED (wrong 1)\n");
}

TEST(ReportTest, TheTableHasAValueUnderEachColumn) {
  const auto words = [](const std::string& line) {
    std::vector<std::string> found;
    std::istringstream in(line);
    for (std::string word; in >> word;) found.push_back(word);
    return found;
  };
  const auto columns_of = [&](const std::string& heading) {
    auto columns = words(heading.substr(heading.rfind('\n', heading.size() - 2) + 1));
    columns.erase(columns.begin());  // the '#'
    return columns;
  };
  const std::string heading = Heading({}, {.path = "message (x)"});
  const std::vector<std::string> columns = columns_of(heading);
  const DataRow row = RowOf("pull", 8, 1, 1, Once({2000}, 3));
  EXPECT_EQ(words(RowLine(row)).size(), columns.size());
  EXPECT_EQ(columns.back(), "wrong");
  EXPECT_EQ(words(RowLine(row)).back(), "3");
  EXPECT_THAT(heading, HasSubstr("path message (x)"));
  DataRow compared = row;
  Compare(RowOf("control_am", 8, 1, 1, Once({1000})), compared);
  EXPECT_EQ(words(RowLine(compared)).size(), columns_of(Heading({.control = true}, {})).size());
}

TEST(ReportTest, TheJsonHasTheRowsAndTheirContext) {
  const std::vector<DataRow> rows = {RowOf("push", 8, 1, 2, Once({2000}, 3))};
  const DataBenchOptions options{.workers = 2, .transport = TransportChoice::kShm};
  const RunContext context{
      .path = "message (x)", .other_paths = {{8, "tcp"}}, .worker_cpus = {0, 1}, .ps_cpus = {2}};
  const auto json = nlohmann::json::parse(ReportJson(options, context, rows));
  EXPECT_EQ(json["bench"], "latency");
  EXPECT_EQ(json["git"], BuildCommit());
  EXPECT_EQ(json["version"], BuildVersion());
  EXPECT_EQ(json["build_type"], BuildType());
  EXPECT_EQ(json["transport"], "shm");
  EXPECT_EQ(json["path"], "message (x)");
  EXPECT_EQ(json["other_paths"].dump(), R"([{"path":"tcp","size_bytes":8}])");
  EXPECT_EQ(json["worker_cpus"], (std::vector<int>{0, 1}));
  const auto& row = json["rows"][0];
  EXPECT_EQ(row["op"], "push");
  EXPECT_EQ(row["size_bytes"], 8);
  EXPECT_EQ(row["p50_us"], 2.0);
  EXPECT_EQ(row["round_p50_us"], (std::vector<double>{2}));
  EXPECT_EQ(row["wrong"], 3);
}

}  // namespace
}  // namespace weir::bench
