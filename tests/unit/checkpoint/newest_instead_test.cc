#include "common/checkpoint/newest_instead.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A model directory whose pruning strikes while a checkpoint is being read.
class NewestInsteadTest : public ::testing::Test {
 protected:
  void SetUp() override { Save(1); }

  void Save(std::uint64_t step) {
    const auto written = WriteSample(folder_.path(), Step(step), 2);
    ASSERT_TRUE(written.ok()) << written.status();
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  absl::Status PruneTo(std::uint64_t step) {
    Save(step);
    return Prune(folder_.path(), 1);
  }
  /// Reads everything, as the evaluator does.
  absl::Status ReadAll(const std::string& folder) {
    read_.push_back(fs::path(folder).filename().string());
    WEIR_ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::Open(folder));
    return reader.VerifyAll();
  }

  TempFolder folder_;
  std::vector<std::string> read_;
};

TEST_F(NewestInsteadTest, ReadsTheOneAskedForWhereItIsThere) {
  Save(2);
  const auto read = ReadOrNewest(folder_.path(), "step-00000001",
                                 [this](const std::string& folder) { return ReadAll(folder); });
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->step, Step(1));
}

TEST_F(NewestInsteadTest, TakesTheNewestForOneThatIsGone) {
  Save(2);
  ASSERT_TRUE(PruneTo(3).ok());
  const auto read = ReadOrNewest(folder_.path(), "step-00000001",
                                 [this](const std::string& folder) { return ReadAll(folder); });
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->step, Step(3));
  EXPECT_EQ(read->name, "step-00000003");
  EXPECT_THAT(read_, ElementsAre("step-00000001", "step-00000003"));
}

TEST_F(NewestInsteadTest, TakesTheNewestWhenPrunedInTheMiddle) {
  // Between the manifest and the files; the second attempt meets the same.
  const auto read =
      ReadOrNewest(folder_.path(), "step-00000001", [this](const std::string& folder) {
        read_.push_back(fs::path(folder).filename().string());
        const auto manifest = ReadManifest(folder);
        if (!manifest.ok()) return manifest.status();
        if (read_.size() <= 2) WEIR_RETURN_IF_ERROR(PruneTo(read_.size() + 1));
        return fs::exists(absl::StrCat(folder, "/", manifest->files[0].file))
                   ? absl::OkStatus()
                   : WithExitCode(absl::NotFoundError("No such file"), ExitCode::kBadData);
      });
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->step, Step(3));
  EXPECT_THAT(read_, ElementsAre("step-00000001", "step-00000002", "step-00000003"));
}

TEST_F(NewestInsteadTest, NeverStepsOverWhatIsCorrupt) {
  Save(2);
  fs::remove(Path("step-00000001/shard-1-of-2.safetensors"));
  const auto read = ReadOrNewest(folder_.path(), "step-00000001",
                                 [this](const std::string& folder) { return ReadAll(folder); });
  EXPECT_EQ(ExitCodeOf(read.status()), ExitCode::kBadData);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("shard-1-of-2"));
  EXPECT_THAT(read_, ElementsAre("step-00000001"));
}

TEST_F(NewestInsteadTest, SaysWhenNoneIsLeft) {
  fs::remove_all(Path("step-00000001"));
  const auto read = ReadOrNewest(folder_.path(), "step-00000001",
                                 [this](const std::string& folder) { return ReadAll(folder); });
  EXPECT_EQ(ExitCodeOf(read.status()), ExitCode::kBadData);
  EXPECT_THAT(std::string(read.status().message()),
              HasSubstr(absl::StrCat("no other is left in ", folder_.path())));
}

TEST_F(NewestInsteadTest, StopsWhenCancelled) {
  Save(2);
  fs::remove_all(Path("step-00000001"));
  const auto read = ReadOrNewest(folder_.path(), "step-00000001", [](const std::string&) {
    return absl::CancelledError("the job ends");
  });
  EXPECT_TRUE(absl::IsCancelled(read.status()));
}

}  // namespace
}  // namespace weir
