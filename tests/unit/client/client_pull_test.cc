#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/client_fixture.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using wire::Code;

class ClientPullTest : public ClientFixture {
 protected:
  void Start() { client_.StartPull(now_, deadline_); }
};

TEST_F(ClientPullTest, AsksForRunsWithinTheCredits) {
  Start();
  ASSERT_EQ(output_.pulls.size(), 2U);
  EXPECT_EQ(output_.pulls[0].first, kA);
  EXPECT_EQ(output_.pulls[0].second.block(), 0U);
  EXPECT_EQ(output_.pulls[0].second.count(), 2U);
  EXPECT_EQ(output_.pulls[0].second.request(), 1U);
  EXPECT_EQ(output_.pulls[0].second.session(), 500U);
  EXPECT_EQ(output_.pulls[0].second.view(), 4U);
  EXPECT_EQ(output_.pulls[1].second.block(), 1U);
  EXPECT_EQ(output_.pulls[1].second.count(), 1U);
}

TEST_F(ClientPullTest, IsDoneAtOnceWhereEveryBlockCanBeRead) {
  for (std::uint32_t b = 0; b < 5; ++b) output_.mapped[BlockId(b)] = Version(10 + b);
  Start();
  EXPECT_EQ(client_.pull_result(), absl::OkStatus());
  EXPECT_TRUE(output_.pulls.empty());
  EXPECT_TRUE(output_.delivered.empty());
  EXPECT_EQ(client_.version(BlockId(3)), Version(13));
  ASSERT_EQ(output_.reads.size(), 5U);
  EXPECT_EQ(output_.reads[1].from, kA);
  EXPECT_EQ(output_.reads[1].block, BlockId(2));
  EXPECT_EQ(output_.reads[1].position, 1U);
  EXPECT_EQ(output_.reads[1].view, ViewNumber(4));
  EXPECT_EQ(client_.next_tick(), absl::InfiniteFuture());
}

TEST_F(ClientPullTest, AsksForWhatCannotBeRead) {
  for (std::uint32_t b : {0U, 3U}) output_.mapped[BlockId(b)] = Version(7);
  Start();
  // 1 waits for no credit of 3's, nor 2 and 4 for one of 0's.
  EXPECT_EQ(AskedBlocks(1), (std::vector<std::uint32_t>{2, 4, 1}));
  Block(1), Block(2);
  EXPECT_EQ(client_.pull_result(), std::nullopt);
  // Asked again for want of an answer, it can be read by then; the late answer is dropped.
  output_.mapped[BlockId(4)] = Version(9);
  Advance(absl::Seconds(1));
  EXPECT_EQ(client_.pull_result(), absl::OkStatus());
  Block(4);
  EXPECT_EQ(client_.version(BlockId(4)), Version(9));
  EXPECT_EQ(client_.messages_dropped(), 1U);
}

TEST_F(ClientPullTest, DoesNotReadWhatIsOlderThanItsOwnPush) {
  for (std::uint32_t b = 0; b < 5; ++b) output_.mapped[BlockId(b)] = Version(1);
  client_.StartPush(now_, Step(1), deadline_);
  for (std::uint32_t b = 0; b < 5; ++b) Ack(b), Sent(b);
  ASSERT_EQ(client_.push_result(), absl::OkStatus());
  output_.mapped[BlockId(2)] = Version(0);
  Start();
  EXPECT_EQ(AskedBlocks(1), (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(client_.version(BlockId(0)), Version(1));
}

TEST_F(ClientPullTest, IsDoneWhenEveryBlockWasDeliveredOnce) {
  Start();
  Block(2, Code::Ok, 1, 5), Block(0), Block(0), Block(1), Block(3);
  EXPECT_EQ(client_.pull_result(), std::nullopt);
  Block(4);
  EXPECT_EQ(client_.pull_result(), absl::OkStatus());
  EXPECT_EQ(output_.delivered.size(), 5U);
  EXPECT_EQ(client_.version(BlockId(2)), Version(5));
  EXPECT_EQ(client_.messages_dropped(), 1U);
  EXPECT_EQ(client_.next_tick(), absl::InfiniteFuture());
}

TEST_F(ClientPullTest, DropsRepliesOfAnEarlierPull) {
  Start();
  for (std::uint32_t block : {0U, 1U, 2U, 3U, 4U}) Block(block);
  Start();
  Block(0, Code::Ok, 1, 1);
  EXPECT_EQ(output_.delivered.size(), 5U);
  Block(0, Code::Ok, 2, 2);
  EXPECT_EQ(output_.delivered.size(), 6U);
}

TEST_F(ClientPullTest, ClosesAShardThatAnswersWhatNoShardDoes) {
  const auto ends_it = [&](std::size_t bytes, std::uint64_t request, std::uint32_t block,
                           Code code) {
    ClientLogic client(layout_, {.worker = WorkerIndex(3), .incarnation = Incarnation(9)}, output_);
    client.OnConnected(kA, {.session = kSession[0]});
    client.OnConnected(kB, {.session = kSession[1]});
    client.StartPull(now_, deadline_);
    output_.closed.clear();
    client.OnPullBlock(now_, kA, wire::PullBlock(500, request, 1, 4, block, code, 0, 0, 0),
                       std::vector<std::byte>(bytes));
    EXPECT_EQ(output_.closed, std::vector{kA});
    EXPECT_TRUE(output_.delivered.empty());
    EXPECT_EQ(client.pull_result()->code(), absl::StatusCode::kUnavailable);
    return std::string(client.pull_result()->message());
  };
  EXPECT_THAT(ends_it(15, 1, 0, Code::Ok), HasSubstr("not of its block's size"));
  EXPECT_THAT(ends_it(15, 1, 0, Code::Busy), HasSubstr("not of its block's size"));
  EXPECT_THAT(ends_it(16, 2, 0, Code::Ok), HasSubstr("a pull that never was"));
  EXPECT_THAT(ends_it(16, 1, 1, Code::Ok), HasSubstr("a block that it has not"));
  EXPECT_THAT(ends_it(0, 1, 0, static_cast<Code>(77)), HasSubstr("unknown code"));
}

TEST_F(ClientPullTest, AsksAgainOnlyForWhatIsMissing) {
  Start();
  Block(0);
  ASSERT_EQ(output_.pulls.size(), 3U);  // 4
  Block(1);                             // 3
  ASSERT_EQ(output_.pulls.size(), 4U);
  EXPECT_EQ(client_.next_tick(), now_ + absl::Seconds(1));
  Advance(absl::Seconds(1));
  std::size_t asked = 0;
  for (std::size_t i = 4; i < output_.pulls.size(); ++i) asked += output_.pulls[i].second.count();
  EXPECT_EQ(asked, 3U);
  EXPECT_EQ(output_.pulls.back().second.request(), 1U);
  Block(2), Block(3), Block(4);
  EXPECT_EQ(client_.pull_result(), absl::OkStatus());
}

TEST_F(ClientPullTest, BusyAndStaleViewsAreRetried) {
  Start();
  Block(1, Code::Busy);
  EXPECT_EQ(output_.pulls.back().second.block(), 3U);
  Block(3, Code::StaleView, 1, 0, 6);
  Advance(absl::Milliseconds(5));
  EXPECT_EQ(output_.pulls.back().second.block(), 1U);
  Block(1);
  client_.OnView(now_, ViewNumber(6));
  EXPECT_EQ(output_.pulls.back().second.block(), 3U);
  EXPECT_EQ(output_.pulls.back().second.view(), 6U);
}

TEST_F(ClientPullTest, PushAndPullGoOnSideBySide) {
  Start();
  client_.StartPush(now_, Step(1), deadline_);
  for (std::uint32_t block : {0U, 1U, 2U, 3U, 4U}) Sent(block), Ack(block), Block(block);
  Sent(3), Ack(3), Sent(4), Ack(4);
  EXPECT_EQ(client_.pull_result(), absl::OkStatus());
  EXPECT_EQ(client_.push_result(), absl::OkStatus());
}

TEST_F(ClientPullTest, FencedEndsIt) {
  Start();
  Block(0, Code::Fenced);
  EXPECT_EQ(client_.pull_result()->code(), absl::StatusCode::kFailedPrecondition);
}

// Messages cost more than the blocks of small tensors do.
TEST(ClientPullRequestsTest, AsksForMoreOnceHalfOfTheCreditsAreFree) {
  const Layout layout = MakeLayout(std::vector<std::int64_t>(9, 4), 1);
  RecordingClientOutput output;
  ClientLogic logic(layout, {.worker = WorkerIndex(3), .incarnation = Incarnation(9)}, output);
  logic.OnConnected(ShardIndex(0), {.session = 500, .push_credits = 4, .pull_credits = 4});
  const absl::Time now = absl::UnixEpoch();
  logic.OnView(now, ViewNumber(4));
  logic.StartPull(now, now + absl::Seconds(30));
  const std::vector<std::byte> payload(16);
  std::vector<std::uint32_t> counts;
  for (std::uint32_t block = 0; block < 9; ++block) {
    logic.OnPullBlock(now, ShardIndex(0), wire::PullBlock(500, 1, 1, 4, block, Code::Ok, 0, 0, 0),
                      payload);
  }
  for (const auto& [to, header] : output.pulls) counts.push_back(header.count());
  EXPECT_THAT(counts, ::testing::ElementsAre(4, 2, 2, 1));
  EXPECT_EQ(logic.pull_result(), absl::OkStatus());
}

}  // namespace
}  // namespace weir
