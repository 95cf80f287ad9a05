#include "chief/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "chief/training_log.h"
#include "weir/exit_code.h"

namespace weir::chief {
namespace {

namespace fs = std::filesystem;

std::string FreshFolder(const std::string& name) {
  const fs::path path = fs::path(testing::TempDir()) / ("weir_chief_" + name);
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Summary Sample() {
  Summary summary;
  summary.job = "fashion-mnist";
  summary.mode = "async";
  summary.ps = 2;
  summary.workers = 1;
  summary.global_step = 200;
  summary.train_seconds = 2.5;
  summary.final_loss = 0.25F;
  summary.test_accuracy = 0.9103F;
  summary.paths = {{"worker 0", "ps 1", "message"}};
  summary.no_rdma = "worker 1: no device";
  summary.pushes = {200, 199, 3, 0, 1};
  summary.staleness = {1, 4, 7};
  summary.bytes = {10, 20};
  summary.members = {{"chief", 0, 12, 0, 4096}, {"worker", 0, 13, std::nullopt, std::nullopt}};
  summary.checkpoint = "step-00000200";
  return summary;
}

TEST(SummaryJsonTest, HasTheKeysOfTheContract) {
  const auto json = nlohmann::ordered_json::parse(SummaryToJson(Sample()));
  std::vector<std::string> keys;
  for (const auto& entry : json.items()) keys.push_back(entry.key());
  EXPECT_THAT(keys,
              testing::ElementsAre("job", "mode", "ps", "workers", "global_step", "wall_seconds",
                                   "train_seconds", "steps_per_second", "examples_per_second",
                                   "final_loss", "test_accuracy", "paths", "rdma", "pushes",
                                   "staleness", "bytes", "phases", "members", "checkpoint"));
  EXPECT_EQ(json["test_accuracy"].dump(), "0.9103");
  EXPECT_EQ(json["paths"].dump(), R"([{"from":"worker 0","to":"ps 1","path":"message"}])");
  EXPECT_EQ(json["rdma"].dump(), R"({"used":false,"why_not":"worker 1: no device"})");
  EXPECT_EQ(json["pushes"].dump(),
            R"({"acknowledged":200,"applied":199,"duplicates":3,"dropped":0,"lost":1})");
  EXPECT_EQ(json["staleness"].dump(), R"({"p50":1,"p99":4,"max":7})");
  EXPECT_EQ(json["bytes"].dump(), R"({"pushed":10,"pulled":20})");
  EXPECT_EQ(json["members"][1].dump(),
            R"({"role":"worker","index":0,"pid":13,"exit_code":null,"peak_rss_bytes":null})");
}

TEST(SummaryJsonTest, WhatIsUnknownIsNull) {
  Summary summary;
  summary.final_loss = std::numeric_limits<float>::quiet_NaN();
  summary.paths = {{"worker 0", "ps 0", "\xff"}};
  const auto json = nlohmann::json::parse(SummaryToJson(summary));
  EXPECT_TRUE(json["final_loss"].is_null());
  EXPECT_TRUE(json["test_accuracy"].is_null());
  EXPECT_TRUE(json["checkpoint"].is_null());
  EXPECT_TRUE(json["rdma"]["why_not"].is_null());
  EXPECT_TRUE(json["members"].is_array());
}

TEST(SummaryJsonTest, IsWrittenWholeOrNotAtAll) {
  const std::string folder = FreshFolder("summary");
  const std::string path = folder + "/summary.json";
  ASSERT_TRUE(WriteSummary(Sample(), path).ok());
  EXPECT_EQ(TextOf(path), SummaryToJson(Sample()));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  EXPECT_TRUE(CheckSummaryPath("").ok());
  EXPECT_TRUE(CheckSummaryPath(folder + "/other.json").ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  for (const std::string& bad : {folder, folder + "/none/summary.json"}) {
    EXPECT_EQ(ExitCodeOf(CheckSummaryPath(bad)), ExitCode::kBadUsage) << bad;
  }
  const absl::Status failed = WriteSummary(Sample(), folder + "/none/summary.json");
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(std::string(failed.message()), testing::HasSubstr("/none/summary.json"));
}

TEST(TrainingLogTest, KeepsEarlierLinesAndEndsATornOne) {
  const std::string path = FreshFolder("log") + "/metrics.jsonl";
  std::ofstream(path) << "{\"step\":1}\n{\"ste";
  {
    auto log = TrainingLog::Open(path);
    ASSERT_TRUE(log.ok()) << log.status();
    EXPECT_TRUE(log->Append("{\"step\":2}").ok());
    EXPECT_TRUE(log->Sync().ok());
  }
  auto again = TrainingLog::Open(path);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->Append("{\"step\":3}").ok());
  EXPECT_EQ(TextOf(path), "{\"step\":1}\n{\"ste\n{\"step\":2}\n{\"step\":3}\n");
}

TEST(TrainingLogTest, APathThatCannotBeWrittenIsBadUsage) {
  const auto log = TrainingLog::Open(FreshFolder("none") + "/missing/metrics.jsonl");
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(ExitCodeOf(log.status()), ExitCode::kBadUsage);
}

}  // namespace
}  // namespace weir::chief
