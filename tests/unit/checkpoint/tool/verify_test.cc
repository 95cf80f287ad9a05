#include "common/checkpoint/tool/verify.h"

#include <cstring>
#include <filesystem>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/shard_file_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VerifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto written = WriteSample(folder_.path(), Step(7), 2);
    ASSERT_TRUE(written.ok()) << written.status();
    checkpoint_ = *written;
  }
  std::string File(int shard) const {
    return absl::StrCat(checkpoint_, "/shard-", shard, "-of-2.safetensors");
  }
  /// Flips a bit of a byte that is `back` bytes before the file's end.
  void Damage(const std::string& path, std::size_t back) const {
    std::string text = ReadText(path);
    text[text.size() - back] = static_cast<char>(text[text.size() - back] ^ 1);
    WriteText(path, text);
  }

  TempFolder folder_;
  std::string checkpoint_;
};

TEST_F(VerifyTest, ASoundCheckpointHasNoProblem) {
  const Verification found = VerifyPath(checkpoint_);
  EXPECT_THAT(found.problems, IsEmpty());
  EXPECT_EQ(found.step, 7U);
  EXPECT_EQ(found.tensors, 5U);
  EXPECT_EQ(found.files, 2U);
  EXPECT_EQ(found.bytes, fs::file_size(File(0)) + fs::file_size(File(1)));
  EXPECT_THAT(found.not_finite, IsEmpty());
  const Report report = ReportOn(found, ReportFormat::kText);
  EXPECT_TRUE(report.status.ok());
  EXPECT_THAT(report.text, HasSubstr("step 7, 5 tensors in 2 files"));
  EXPECT_EQ(json::parse(ReportOn(found, ReportFormat::kJson).text)["ok"], true);
}

TEST_F(VerifyTest, GoesOnAfterAProblem) {
  Damage(File(0), 1);
  Damage(File(0), 300'000);  // another block
  fs::resize_file(File(1), 1000);
  const Verification found = VerifyPath(checkpoint_);
  EXPECT_EQ(found.problem_count, 3U);
  EXPECT_THAT(found.problems,
              ElementsAre(AllOf(HasSubstr("shard-0-of-2"), HasSubstr("wrong checksum: expected")),
                          AllOf(HasSubstr("shard-0-of-2"), HasSubstr("wrong checksum: expected")),
                          AllOf(HasSubstr("shard-1-of-2"), HasSubstr("truncated"),
                                HasSubstr("found 1000"))));
  const Report report = ReportOn(found, ReportFormat::kText);
  EXPECT_EQ(ExitCodeOf(report.status), ExitCode::kBadData);
  EXPECT_THAT(report.text, HasSubstr("3 problems"));
  const json machine = json::parse(ReportOn(found, ReportFormat::kJson).text);
  EXPECT_EQ(machine["ok"], false);
  EXPECT_EQ(machine["problems"].size(), 3U);
}

TEST_F(VerifyTest, NamesAMissingFileAndABadManifest) {
  fs::remove(File(1));
  EXPECT_THAT(VerifyPath(checkpoint_).problems, ElementsAre(HasSubstr("No such file")));
  WriteText(checkpoint_ + "/manifest.json", "{");
  EXPECT_THAT(VerifyPath(checkpoint_).problems, ElementsAre(HasSubstr("manifest.json")));
  EXPECT_THAT(VerifyPath(folder_.path() + "/none").problems, ElementsAre(HasSubstr("/none")));
}

TEST_F(VerifyTest, AnEntryThatTheManifestDoesNotKnowIsAProblem) {
  std::string text = ReadText(File(0));
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  // The padding hides an entry of no bytes: sizes and checksums stay as they are.
  const std::string hidden = R"("hidden":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)";
  text.insert(9, hidden);
  length += hidden.size();
  std::memcpy(text.data(), &length, sizeof length);
  WriteText(File(0), text);
  std::string manifest = ReadText(checkpoint_ + "/manifest.json");
  const std::string bytes = absl::StrCat("\"bytes\": ", text.size() - hidden.size());
  ASSERT_NE(manifest.find(bytes), std::string::npos);
  manifest.replace(manifest.find(bytes), bytes.size(), absl::StrCat("\"bytes\": ", text.size()));
  WriteText(checkpoint_ + "/manifest.json", manifest);
  EXPECT_THAT(VerifyPath(checkpoint_).problems,
              ElementsAre(HasSubstr("entry 'hidden' is not what the manifest says")));
}

TEST_F(VerifyTest, ManyProblemsAreCounted) {
  std::string manifest = ReadText(checkpoint_ + "/manifest.json");
  // As many files as there may be, of which none is there.
  std::string files;
  for (int i = 0; i < 50; ++i) {
    absl::StrAppend(&files, "{\"file\": \"x", i,
                    ".safetensors\", \"bytes\": 10, \"entries\": []},");
  }
  manifest.replace(manifest.find("\"shards\": 2"), 11, "\"shards\": 60");
  manifest.insert(manifest.find("\"files\": [") + 10, files);
  WriteText(checkpoint_ + "/manifest.json", manifest);
  const Verification found = VerifyPath(checkpoint_);
  EXPECT_EQ(found.problem_count, 50U);
  EXPECT_EQ(found.problems.size(), kMaxShownProblems);
  EXPECT_THAT(ReportOn(found, ReportFormat::kText).text, HasSubstr("and 30 problems more"));
}

TEST_F(VerifyTest, CountsWhatIsNotFiniteAsAWarning) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1, kInf, std::numeric_limits<float>::quiet_NaN(), -kInf};
  auto writer = ShardFileWriter::Create(folder_.path(), "f.safetensors",
                                        {{.tensor = "odd", .tensor_shape = {4}, .elements = 4},
                                         {.tensor = "even", .tensor_shape = {1}, .elements = 1}});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Append(0, values).ok());
  ASSERT_TRUE(writer->Append(1, std::span(values).first(1)).ok());
  ASSERT_TRUE(writer->Finish().ok());
  const Verification found = VerifyPath(folder_.path() + "/f.safetensors");
  EXPECT_FALSE(found.is_checkpoint);
  EXPECT_EQ(found.tensors, 2U);
  ASSERT_EQ(found.not_finite.size(), 1U);
  EXPECT_EQ(found.not_finite[0].tensor, "odd");
  EXPECT_EQ(found.not_finite[0].count.nan, 1U);
  EXPECT_EQ(found.not_finite[0].count.infinite, 2U);
  const Report report = ReportOn(found, ReportFormat::kText);
  EXPECT_TRUE(report.status.ok());
  EXPECT_THAT(report.text, HasSubstr("'odd' has 1 NaN and 2 infinite"));
}

}  // namespace
}  // namespace weir
