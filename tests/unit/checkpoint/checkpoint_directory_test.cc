#include "common/checkpoint/checkpoint_directory.h"

#include <filesystem>

#include "common/checkpoint/checkpoint_name.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/model_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void AddIncomplete(const TempFolder& folder, const std::string& name) {
  fs::create_directory(folder.path() + "/" + name);
  WriteText(folder.path() + "/" + name + "/shard-0-of-2.safetensors", "half");
  WriteText(folder.path() + "/" + name + "/.shard-1-of-2.safetensors.tmp-0123", "dead writer's");
}

std::vector<std::string> NamesOf(const std::vector<CheckpointPath>& checkpoints) {
  std::vector<std::string> names;
  for (const CheckpointPath& checkpoint : checkpoints) names.push_back(checkpoint.name);
  return names;
}

TEST(CheckpointNameTest, OneStepHasOneName) {
  EXPECT_EQ(CheckpointFolderName(Step(1200)), "step-00001200");
  EXPECT_EQ(CheckpointFolderName(Step(1234567890)), "step-1234567890");
  EXPECT_EQ(StepOfCheckpointFolder("/a/b/step-00001200/"), Step(1200));
  EXPECT_EQ(StepOfCheckpointFolder("step-18446744073709551615"), Step(~0ULL));
  for (const char* bad :
       {"", "/", "step-", "step-1200", "step-000001200", "step-0000120x", "step-+0001200",
        "step--0001200", "Step-00001200", "step-99999999999999999999", "step-00001200 "}) {
    EXPECT_EQ(StepOfCheckpointFolder(bad), std::nullopt) << bad;
  }
}

TEST(CheckpointDirectoryTest, WhatCannotBeLookedAtIsAnErrorAndNotIncomplete) {
  const TempFolder folder;
  ASSERT_TRUE(WriteSample(folder.path(), Step(20), 1).ok());
  ASSERT_TRUE(WriteSample(folder.path(), Step(30), 1).ok());
  const std::string manifest = folder.path() + "/step-00000020/manifest.json";
  fs::rename(manifest, manifest + ".safe");
  fs::create_symlink("manifest.json", manifest);  // to itself: stat fails, and not with ENOENT
  const auto scanned = ScanModelDir(folder.path());
  EXPECT_EQ(ExitCodeOf(scanned.status()), ExitCode::kBadData) << scanned.status();
  EXPECT_FALSE(Prune(folder.path(), 1).ok());
  EXPECT_TRUE(fs::exists(manifest + ".safe"));
  EXPECT_FALSE(fs::is_empty(folder.path() + "/step-00000020"));
}

TEST(CheckpointDirectoryTest, ListsOnlyWhatIsComplete) {
  const TempFolder folder;
  EXPECT_THAT(ListCheckpoints(folder.path() + "/none").value(), IsEmpty());
  EXPECT_FALSE(NewestCheckpoint(folder.path()).value().has_value());
  // Ten digits sort after eight by step, not by name.
  for (const std::uint64_t step : {1'234'567'890ULL, 20ULL, 100ULL}) {
    ASSERT_TRUE(WriteSample(folder.path(), Step(step), 1).ok());
  }
  AddIncomplete(folder, "step-00000050");
  fs::create_directory(folder.path() + "/step-50");
  fs::create_directory(folder.path() + "/other");
  WriteText(folder.path() + "/step-00000060", "a file");
  EXPECT_THAT(NamesOf(ListCheckpoints(folder.path()).value()),
              ElementsAre("step-00000020", "step-00000100", "step-1234567890"));
  const auto newest = NewestCheckpoint(folder.path()).value();
  ASSERT_TRUE(newest.has_value());
  EXPECT_EQ(newest->step, Step(1'234'567'890));
  EXPECT_EQ(newest->path, folder.path() + "/step-1234567890");
}

TEST(CheckpointDirectoryTest, AFileInPlaceOfTheModelDirectoryIsAnError) {
  const auto list = ListCheckpoints("/proc/self/status");
  EXPECT_FALSE(list.ok());
  EXPECT_THAT(std::string(list.status().message()), HasSubstr("/proc/self/status"));
}

TEST(CheckpointDirectoryTest, FindsTheFinalOneThatHasReachedTheSteps) {
  const TempFolder folder;
  const auto early = WriteSample(folder.path(), Step(100), 2);
  const auto late = WriteSample(folder.path(), Step(200), 2);
  ASSERT_TRUE(early.ok() && late.ok());
  EXPECT_FALSE(FindFinal(folder.path(), Step(100)).value().has_value());
  ASSERT_TRUE(MarkFinal(*early).ok());
  EXPECT_EQ(FindFinal(folder.path(), Step(100)).value()->step, Step(100));
  EXPECT_FALSE(FindFinal(folder.path(), Step(101)).value().has_value());
  ASSERT_TRUE(MarkFinal(*late).ok());
  ASSERT_TRUE(MarkFinal(*late).ok());
  EXPECT_EQ(FindFinal(folder.path(), Step(100)).value()->step, Step(200));
  EXPECT_TRUE(CheckpointReader::Open(*late)->VerifyAll().ok());
  WriteText(*late + "/manifest.json", "{");
  EXPECT_EQ(FindFinal(folder.path(), Step(100)).status().code(), absl::StatusCode::kDataLoss);
}

TEST(CheckpointDirectoryTest, WhatADeadRunLeftIsRemovedWhateverItsStep) {
  const TempFolder folder;
  AddIncomplete(folder, "step-00000025");
  ASSERT_TRUE(WriteSample(folder.path(), Step(40), 1).ok());
  AddIncomplete(folder, "step-00000050");
  ASSERT_TRUE(RemoveIncomplete(folder.path()).ok());
  EXPECT_THAT(folder.Names(), ElementsAre("step-00000040"));
}

TEST(PruneTest, KeepsTheNewestAndSweepsWhatIsOlder) {
  const TempFolder folder;
  for (const std::uint64_t step : {10ULL, 20ULL, 30ULL, 40ULL}) {
    ASSERT_TRUE(WriteSample(folder.path(), Step(step), 2).ok());
  }
  AddIncomplete(folder, "step-00000025");
  AddIncomplete(folder, "step-00000050");  // being written
  WriteText(folder.path() + "/metrics.jsonl", "kept");
  ASSERT_TRUE(Prune(folder.path(), 0).ok());
  EXPECT_THAT(folder.Names(), ElementsAre("metrics.jsonl", "step-00000010", "step-00000020",
                                          "step-00000030", "step-00000040", "step-00000050"));
  ASSERT_TRUE(Prune(folder.path(), 2).ok());
  EXPECT_THAT(folder.Names(),
              ElementsAre("metrics.jsonl", "step-00000030", "step-00000040", "step-00000050"));
  ASSERT_TRUE(Prune(folder.path(), 1).ok());
  EXPECT_THAT(NamesOf(ListCheckpoints(folder.path()).value()), ElementsAre("step-00000040"));
  EXPECT_TRUE(CheckpointReader::Open(folder.path() + "/step-00000040")->VerifyAll().ok());
}

TEST(PruneTest, WithoutACompleteOneNothingIsRemoved) {
  const TempFolder folder;
  AddIncomplete(folder, "step-00000050");
  ASSERT_TRUE(Prune(folder.path(), 1).ok());
  EXPECT_THAT(folder.Names(), ElementsAre("step-00000050"));
}

// What cannot be removed here stands for a crash half-way: the manifest must have gone first.
TEST(PruneTest, TheManifestGoesFirst) {
  const TempFolder folder;
  const auto old = WriteSample(folder.path(), Step(10), 1);
  ASSERT_TRUE(old.ok() && WriteSample(folder.path(), Step(20), 1).ok());
  fs::remove(*old + "/shard-0-of-1.safetensors");
  fs::create_directory(*old + "/shard-0-of-1.safetensors");  // unlink fails
  EXPECT_FALSE(Prune(folder.path(), 1).ok());
  EXPECT_THAT(folder.Names(*old), ElementsAre("shard-0-of-1.safetensors"));
  EXPECT_THAT(NamesOf(ListCheckpoints(folder.path()).value()), ElementsAre("step-00000020"));
}

TEST(PruneTest, LeavesFilesOfOthersAndWhatLinksPointTo) {
  const TempFolder folder;
  const TempFolder elsewhere;
  const auto old = WriteSample(folder.path(), Step(10), 1);
  const auto linked = WriteSample(elsewhere.path(), Step(11), 1);
  ASSERT_TRUE(old.ok() && linked.ok() && WriteSample(folder.path(), Step(20), 1).ok());
  fs::create_directory_symlink(*linked, folder.path() + "/step-00000011");
  WriteText(*old + "/notes.txt", "mine");
  EXPECT_TRUE(Prune(folder.path(), 1).ok());
  EXPECT_THAT(folder.Names(*old), ElementsAre("notes.txt"));
  EXPECT_THAT(folder.Names(), ElementsAre("step-00000010", "step-00000020"));
  EXPECT_TRUE(CheckpointReader::Open(*linked)->VerifyAll().ok());
}

TEST(ModelDirTest, MakesAndProbesTheDirectory) {
  const TempFolder folder;
  ASSERT_TRUE(CheckWritable(folder.path() + "/a/b/c").ok());
  EXPECT_THAT(folder.Names(folder.path() + "/a/b/c"), IsEmpty());
  ASSERT_TRUE(CheckWritable(folder.path() + "/a/b/c").ok());
}

TEST(ModelDirTest, NamesADirectoryThatCannotBeWritten) {
  const TempFolder folder;
  WriteText(folder.path() + "/file", "");
  // Root may write wherever permissions forbid it, but not below a file or into /proc.
  for (const std::string& bad : {folder.path() + "/file/below", folder.path() + "/file",
                                 std::string("/proc/self"), std::string("/proc/weir/model")}) {
    const absl::Status status = CheckWritable(bad);
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad));
  }
  EXPECT_THAT(std::string(CheckWritable(folder.path() + "/file/below").message()),
              HasSubstr("Not a directory"));
}

TEST(ModelDirTest, TheNonceTellsOneDirectoryFromAnother) {
  const TempFolder chief;
  const TempFolder other;
  ASSERT_TRUE(WriteNonce(chief.path(), "abc").ok());
  EXPECT_TRUE(CheckNonce(chief.path(), "abc").ok());
  for (const absl::Status& status :
       {CheckNonce(chief.path(), "abd"), CheckNonce(other.path(), "abc")}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage);
    EXPECT_THAT(std::string(status.message()), HasSubstr("must share it"));
  }
}

TEST(ModelDirTest, OneChiefAtATime) {
  const TempFolder folder;
  {
    const auto first = ClaimModelDir(folder.path());
    ASSERT_TRUE(first.ok()) << first.status();
    const auto second = ClaimModelDir(folder.path());
    EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(ExitCodeOf(second.status()), ExitCode::kBadUsage);
    EXPECT_THAT(std::string(second.status().message()), HasSubstr(folder.path()));
  }
  EXPECT_TRUE(ClaimModelDir(folder.path()).ok());
  EXPECT_EQ(ExitCodeOf(ClaimModelDir(folder.path() + "/none").status()), ExitCode::kBadUsage);
}

}  // namespace
}  // namespace weir
