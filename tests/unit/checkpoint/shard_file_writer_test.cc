#include "common/checkpoint/shard_file_writer.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <numeric>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<ShardEntry> kEntries = {
    {.tensor = "a", .tensor_shape = {2, 2}, .offset = 0, .elements = 4},
    {.tensor = "b", .tensor_shape = {100}, .offset = 10, .elements = 3},
    {.tensor = "empty", .tensor_shape = {0}}};

TEST(ShardFileWriterTest, WritesEntriesInAnyOrderAndInPieces) {
  const TempFolder folder;
  auto writer = ShardFileWriter::Create(folder.path(), "s.safetensors", kEntries);
  ASSERT_TRUE(writer.ok()) << writer.status();
  const std::vector<float> a = {1, 2, 3, 4};
  const std::vector<float> b = {5, 6, 7};
  ASSERT_TRUE(writer->Append(1, std::span(b).first(1)).ok());
  ASSERT_TRUE(writer->Append(0, a).ok());
  ASSERT_TRUE(writer->Append(1, std::span(b).subspan(1)).ok());
  const auto file = writer->Finish();
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(folder.Names(), ElementsAre("s.safetensors"));
  const std::string text = ReadText(folder.path() + "/s.safetensors");
  EXPECT_EQ(file->bytes, text.size());
  EXPECT_THAT(text, HasSubstr("\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}"));
  EXPECT_THAT(text,
              HasSubstr("\"b@10\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[16,28]}"));
  EXPECT_THAT(text, HasSubstr("\"empty\":{\"dtype\":\"F32\",\"shape\":[0]"));
  ASSERT_EQ(file->entries.size(), 3U);
  EXPECT_EQ(file->entries[0].checksum, Checksum(std::as_bytes(std::span(a))));
  EXPECT_EQ(file->entries[1].checksum, Checksum(std::as_bytes(std::span(b))));
  EXPECT_EQ(file->entries[1].offset, 10);
  EXPECT_EQ(file->entries[2].checksum, Checksum({}));
  std::vector<float> data(7);
  std::memcpy(data.data(), text.data() + text.size() - 28, 28);
  EXPECT_THAT(data, ElementsAre(1, 2, 3, 4, 5, 6, 7));
}

TEST(ShardFileWriterTest, AnUnfinishedFileLeavesNothing) {
  const TempFolder folder;
  {
    auto writer = ShardFileWriter::Create(folder.path(), "s.safetensors", kEntries);
    ASSERT_TRUE(writer.ok());
    EXPECT_EQ(folder.Names().size(), 1U);
    EXPECT_EQ(folder.Names()[0].rfind(".s.safetensors.tmp-", 0), 0U);
    const auto finished = writer->Finish();
    EXPECT_EQ(finished.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(finished.status().message()), HasSubstr("'a' has 0 of 4 values"));
  }
  EXPECT_THAT(folder.Names(), IsEmpty());
}

TEST(ShardFileWriterTest, RefusesWhatDoesNotFit) {
  const TempFolder folder;
  auto writer = ShardFileWriter::Create(folder.path(), "s.safetensors", kEntries);
  ASSERT_TRUE(writer.ok());
  const std::vector<float> five(5);
  EXPECT_EQ(writer->Append(0, five).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Append(3, five).code(), absl::StatusCode::kInvalidArgument);
}

TEST(ShardFileWriterTest, NamesAFolderThatIsMissing) {
  const auto writer = ShardFileWriter::Create("/nonexistent/weir", "s.safetensors", kEntries);
  ASSERT_EQ(writer.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(writer.status().message()), HasSubstr("/nonexistent/weir"));
}

/// In a process of its own, whose files may not grow beyond 1 MiB. Returns its exit code.
int WriteBeyondTheLimit(const std::string& folder) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{1 << 20, 1 << 20};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 10;
  constexpr std::int64_t kElements = 1 << 20;
  auto writer = ShardFileWriter::Create(
      folder, "s.safetensors",
      {{.tensor = "a", .tensor_shape = {kElements}, .elements = kElements}});
  if (!writer.ok()) return 11;
  const std::vector<float> block(32 * 1024);
  for (std::int64_t done = 0; done < kElements; done += static_cast<std::int64_t>(block.size())) {
    const absl::Status status = writer->Append(0, block);
    if (status.ok()) continue;
    const std::string text(status.message());
    return absl::StrContains(text, folder) && absl::StrContains(text, "File too large") ? 0 : 12;
  }
  return 13;
}

TEST(ShardFileWriterTest, AFullDiskIsAnErrorThatNamesThePathAndLeavesNothing) {
  const TempFolder folder;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(WriteBeyondTheLimit(folder.path()));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(folder.Names(), IsEmpty());
}

TEST(ShardPlanTest, AllShardsTogetherHoldEveryTensorOnce) {
  const auto layout = Layout::Create(SampleTensors(), 3);
  ASSERT_TRUE(layout.ok());
  std::vector<std::int64_t> elements(layout->tensors().size(), 0);
  int empty = 0;
  for (std::uint16_t s = 0; s < 3; ++s) {
    const auto plan = PlanShardFile(*layout, ShardIndex(s));
    EXPECT_GE(plan.size(), layout->blocks_of(ShardIndex(s)).size());
    for (const ShardEntry& entry : plan) {
      for (std::size_t t = 0; t < elements.size(); ++t) {
        if (layout->tensors()[t].name == entry.tensor) elements[t] += entry.elements;
      }
      empty += entry.tensor == "empty" ? 1 : 0;
    }
  }
  for (std::size_t t = 0; t < elements.size(); ++t) {
    EXPECT_EQ(elements[t], layout->tensors()[t].elements());
  }
  EXPECT_EQ(empty, 1);
}

}  // namespace
}  // namespace weir
