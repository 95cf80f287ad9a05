// Random damage to a whole safetensors file, header length and data included: every tool that reads
// one must end in a Status, never in a crash or in memory that the file's size does not justify.

#include <sys/resource.h>

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_directory.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/tool/diff.h"
#include "common/checkpoint/tool/import.h"
#include "common/checkpoint/tool/verify.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/mutate.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"
#include "tests/unit/checkpoint/tool/tensor_file.h"

namespace weir {
namespace {

constexpr int kMutations = 3000;

class FileMutationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteTensorFile(sound_,
                    {{"dense/kernel", "F32", {3, 2}, BytesOf<float>({1, 2, 3, 4, 5, 6})},
                     {"scale", "F32", {}, BytesOf<float>({1})},
                     {"empty", "F32", {0, 7}, ""},
                     {"half", "F16", {2}, "1234"},
                     {"packed", "F4", {4}, "12"}},
                    {{"step", "3"}, {"job", "sample"}});
  }

  TempFolder folder_;
  const std::string sound_ = folder_.path() + "/sound.safetensors";
  const std::string file_ = folder_.path() + "/damaged.safetensors";
};

TEST_F(FileMutationTest, EveryToolEndsInAStatus) {
  const std::string valid = ReadText(sound_);
  int read = 0;
  int refused = 0;
  for (int seed = 0; seed < kMutations; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    WriteText(file_, Mutate(valid, random));
    const bool sound = VerifyPath(file_).problem_count == 0;
    EXPECT_EQ(ComparePaths(sound_, file_).ok(), sound);
    EXPECT_EQ(ComparePaths(file_, sound_).ok(), sound);
    sound ? ++read : ++refused;
  }
  // Damage of values is no damage of the format.
  EXPECT_GT(read, kMutations / 20);
  EXPECT_GT(refused, kMutations / 2);
}

TEST_F(FileMutationTest, AnImportIsWholeOrLeavesNoCheckpoint) {
  WriteTensorFile(sound_,
                  {{"dense/kernel", "F32", {3, 2}, BytesOf<float>({1, 2, 3, 4, 5, 6})},
                   {"scale", "F32", {}, BytesOf<float>({1})},
                   {"empty", "F32", {0, 7}, ""}},
                  {{"step", "3"}});
  const std::string valid = ReadText(sound_);
  int imported = 0;
  int refused = 0;
  for (int seed = 0; seed < kMutations / 10; ++seed) {  // each writes to the disk
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    WriteText(file_, Mutate(valid, random));
    const std::string model_dir = absl::StrCat(folder_.path(), "/", seed);
    const auto result = ImportSafetensors(file_, model_dir, {});
    if (!result.ok()) {
      ++refused;
      EXPECT_TRUE(ListCheckpoints(model_dir)->empty());
      continue;
    }
    ++imported;
    EXPECT_EQ(VerifyPath(result->checkpoint).problem_count, 0U);
    const auto same = ComparePaths(file_, result->checkpoint);
    ASSERT_TRUE(same.ok()) << same.status();
    EXPECT_TRUE(same->differences.empty());
  }
  EXPECT_GT(imported, 0);
  EXPECT_GT(refused, 0);
}

TEST_F(FileMutationTest, WhatVerifyFindsSoundCanBeRestored) {
  const auto checkpoint = WriteSample(folder_.path(), Step(1), 2);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const std::string path = *checkpoint + "/manifest.json";
  const std::string valid = ReadText(path);
  int sound = 0;
  for (int seed = 0; seed < kMutations / 10; ++seed) {  // each reads all weights
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    WriteText(path, Mutate(valid, random));
    if (VerifyPath(*checkpoint).problem_count > 0) continue;
    ++sound;
    auto reader = CheckpointReader::Open(*checkpoint);
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_TRUE(reader->VerifyAll().ok());
  }
  EXPECT_GT(sound, 0);
  EXPECT_LT(sound, kMutations / 10);
}

TEST_F(FileMutationTest, NamesCannotWriteToTheTerminal) {
  WriteTensorFile(file_, {{"\x1b[2J", "F32", {1}, BytesOf<float>({NAN})}});
  const std::string text = ReportOn(VerifyPath(file_), ReportFormat::kText).text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_NE(text.find("[2J"), std::string::npos) << text;
}

TEST_F(FileMutationTest, DeclaredSizesAllocateNothing) {
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[1000000000000],"data_offsets":[0,4000000000000]}})";
  const auto text = [](std::uint64_t length, const std::string& rest) {
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + rest;
  };
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  for (const std::string& bytes :
       {text(header.size(), header), text(100'000'000, header), text(~0ULL, header)}) {
    WriteText(file_, bytes);
    EXPECT_EQ(VerifyPath(file_).problem_count, 1U);
    EXPECT_FALSE(ComparePaths(file_, file_).ok());
    EXPECT_FALSE(ImportSafetensors(file_, folder_.path() + "/model", {}).ok());
  }
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 * 1024) << "KiB";
}

}  // namespace
}  // namespace weir
