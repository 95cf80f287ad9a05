#include "common/checkpoint/tool/describe.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

class DescribeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto written = WriteSample(folder_.path(), Step(1), 1);
    ASSERT_TRUE(written.ok()) << written.status();
    checkpoint_ = *written;
    file_ = checkpoint_ + "/shard-0-of-1.safetensors";
  }

  Report Show(ReportFormat format = ReportFormat::kText) const {
    return DescribeCheckpoint(checkpoint_, format);
  }
  Report List(ReportFormat format = ReportFormat::kText) const {
    return DescribeModelDir(folder_.path(), format);
  }

  TempFolder folder_;
  std::string checkpoint_;
  std::string file_;
};

void ExpectBad(const absl::Status& status, const std::string& part) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadData) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(part));
}

TEST_F(DescribeTest, SaysWhatACheckpointHolds) {
  const Report sound = Show();
  EXPECT_TRUE(sound.status.ok());
  for (const char* part : {"sample", "dense/kernel", "[1000, 180]", "shard-0-of-1.safetensors",
                           "ok", "2023-11-14 22:13:20 UTC", "180353"}) {
    EXPECT_THAT(sound.text, HasSubstr(part));
  }
  EXPECT_TRUE(List().status.ok());
  EXPECT_THAT(List().text, HasSubstr("step-00000001"));
}

TEST_F(DescribeTest, SaysItInJson) {
  const json shown = json::parse(Show(ReportFormat::kJson).text);
  EXPECT_EQ(shown["step"], 1);
  EXPECT_EQ(shown["parameters"], 180353);
  EXPECT_EQ(shown["tensors"][0]["shape"], json({1000, 180}));
  EXPECT_EQ(shown["files"][0]["state"], "ok");
  const json list = json::parse(List(ReportFormat::kJson).text);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["checkpoint"], "step-00000001");
  EXPECT_EQ(list[0]["final"], false);
  EXPECT_EQ(list[0]["bytes"], shown["bytes"]);
}

TEST_F(DescribeTest, SaysWhatIsWrong) {
  fs::resize_file(file_, 100);
  EXPECT_THAT(Show().text, HasSubstr("truncated: found 100 bytes"));
  ExpectBad(Show().status, file_);
  fs::remove(file_);
  EXPECT_THAT(Show().text, HasSubstr("missing"));

  WriteText(checkpoint_ + "/manifest.json", "{}");
  EXPECT_THAT(List().text, HasSubstr("corrupt"));
  ExpectBad(List().status, "manifest.json");
  EXPECT_TRUE(json::parse(List(ReportFormat::kJson).text)[0].contains("error"));
  ExpectBad(Show().status, "manifest.json");
  ExpectBad(DescribeModelDir(folder_.path() + "/none", ReportFormat::kText).status, "/none");
}

}  // namespace
}  // namespace weir
