// Pulls that read their blocks from afar.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/client_fixture.h"

namespace weir {
namespace {

using ::testing::ElementsAre;

class ClientReadTest : public ClientFixture {
 protected:
  ClientReadTest() { output_.reads_from_afar = true; }

  void Start() { client_.StartPull(now_, deadline_); }
  void Read(std::uint32_t block, std::optional<std::uint64_t> version) {
    client_.OnRead(now_, BlockId(block),
                   version.has_value() ? std::optional(Version(*version)) : std::nullopt);
  }
  std::vector<std::uint32_t> Started() const {
    std::vector<std::uint32_t> blocks;
    for (const MappedRead& read : output_.started) blocks.push_back(read.block.value());
    return blocks;
  }
};

TEST_F(ClientReadTest, StartsWithinTheCreditsAndAsksNobody) {
  Start();
  EXPECT_THAT(Started(), ElementsAre(0, 2, 1));
  Read(0, 10), Read(1, 11), Read(2, 12);
  EXPECT_THAT(Started(), ElementsAre(0, 2, 1, 4, 3));
  EXPECT_EQ(client_.pull_result(), std::nullopt);
  Read(3, 13), Read(4, 14);
  EXPECT_EQ(client_.pull_result(), absl::OkStatus());
  EXPECT_TRUE(output_.pulls.empty());
  EXPECT_EQ(client_.version(BlockId(2)), Version(12));
}

TEST_F(ClientReadTest, AsksByMessageForWhatCameNotWholeAndReadsItNoMore) {
  Start();
  Read(0, std::nullopt);
  EXPECT_EQ(AskedBlocks(1), std::vector<std::uint32_t>{0});
  // Sent again for want of an answer: by message, since the first may still be answered.
  Advance(absl::Seconds(1));
  EXPECT_EQ(AskedBlocks(1), (std::vector<std::uint32_t>{0, 0}));
  EXPECT_THAT(Started(), ElementsAre(0, 2, 1));
  Block(0), Read(2, 1), Read(1, 1), Read(4, 1), Read(3, 1);
  EXPECT_EQ(client_.pull_result(), absl::OkStatus());
}

TEST_F(ClientReadTest, AReadThatLastsIsNotRepeated) {
  Start();
  Advance(absl::Seconds(5));
  EXPECT_THAT(Started(), ElementsAre(0, 2, 1));
  EXPECT_TRUE(output_.pulls.empty());
}

// The bytes of two reads of one block must not mix.
TEST_F(ClientReadTest, TheNextPullWaitsForReadsOfTheLast) {
  Start();
  Start();
  EXPECT_THAT(Started(), ElementsAre(0, 2, 1));
  Read(0, 5);
  EXPECT_EQ(client_.version(BlockId(0)), Version(0)) << "it was of the pull before";
  // 4 was ready before 0 was.
  EXPECT_THAT(Started(), ElementsAre(0, 2, 1, 4));
  Read(2, 5), Read(1, 5);
  EXPECT_THAT(Started(), ElementsAre(0, 2, 1, 4, 0, 3));
  Read(4, 6), Read(0, 6), Read(3, 6), Read(2, 6), Read(1, 6);
  EXPECT_THAT(Started(), ElementsAre(0, 2, 1, 4, 0, 3, 2, 1));
  EXPECT_EQ(client_.pull_result(), absl::OkStatus());
  EXPECT_EQ(client_.version(BlockId(0)), Version(6));
  EXPECT_TRUE(output_.pulls.empty());
}

TEST_F(ClientReadTest, WhatEndsAfterThePullFailedChangesNothing) {
  Start();
  client_.Abort(now_, absl::UnavailableError("over"));
  Read(0, 5), Read(2, std::nullopt), Read(1, 5);
  EXPECT_EQ(client_.version(BlockId(0)), Version(0));
  EXPECT_TRUE(output_.pulls.empty());
  EXPECT_EQ(client_.pull_result()->code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace weir
