#include "ps_server/logic/shard.h"

#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/ps_server/shard_fixture.h"

namespace weir::ps {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// What a test varies in a push; the rest is right.
struct Push {
  int worker = 0;
  std::uint64_t incarnation = 0;  // 0: the worker's own
  std::uint64_t sequence = 1;
  std::uint64_t base = 0;
  std::uint32_t view = 1;
  BlockId block{0};
  std::uint32_t blocks_here = 1;
  int claimed = -1;  // -1: `worker`
  std::uint8_t codec = 0;
  int extra_bytes = 0;
  float gradient = 2.0F;
};

class ShardTest : public ShardFixture {
 protected:
  explicit ShardTest(int spares = 1) : ShardFixture(spares) {}

  // Returns the answer's code; Invalid too when there was none.
  wire::Code Send(const Push& push) {
    const std::size_t before = output_.acks.size();
    const std::size_t elements =
        push.block.value() < 3 ? static_cast<std::size_t>(layout_.block(push.block).elements) : 1;
    std::vector<float> gradient(elements + 1, push.gradient);
    const auto worker = static_cast<std::uint16_t>(push.worker);
    const auto claimed = push.claimed < 0 ? worker : static_cast<std::uint16_t>(push.claimed);
    shard_.OnPush(WorkerIndex(worker),
                  wire::PushBlock(77, push.incarnation != 0 ? push.incarnation : 101U + worker,
                                  push.sequence, push.base, 1, push.view, push.block.value(),
                                  static_cast<std::uint32_t>(push.sequence), push.blocks_here,
                                  claimed, push.codec, 0),
                  std::as_bytes(std::span(gradient))
                      .first(elements * 4 + static_cast<std::size_t>(push.extra_bytes)));
    answered_ = output_.acks.size() > before;
    return answered_ ? output_.acks.back().code() : wire::Code::Invalid;
  }

  void Pull(std::uint32_t count, std::uint64_t request = 1, std::uint32_t view = 1,
            std::uint64_t incarnation = 101, std::uint32_t block = 0) {
    shard_.OnPull(WorkerIndex(0),
                  wire::PullRequest(77, incarnation, request, view, block, count, 0, 0));
  }

  bool answered_ = false;
};

TEST_F(ShardTest, TheFixtureHoldsOneBlockHereAndTwoElsewhere) {
  ASSERT_EQ(layout_.blocks_of(kShard).size(), 1U);
  ASSERT_FALSE(store_.owns(BlockId(1)));
}

TEST_F(ShardTest, AppliesAPushAndAcknowledgesIt) {
  ASSERT_EQ(Send({}), wire::Code::Ok);
  EXPECT_THAT(store_.values(BlockId(0)), Each(-1.0F));
  const wire::PushAck& ack = output_.acks.back();
  EXPECT_EQ(ack.session(), 77U);
  EXPECT_EQ(ack.sequence(), 1U);
  EXPECT_EQ(ack.version(), 1U);
  EXPECT_EQ(ack.view(), 1U);
  EXPECT_EQ(ack.duplicate(), 0);
  EXPECT_EQ(store_.version(BlockId(0)), Version(1));
  EXPECT_EQ(counters_.applied(WorkerIndex(0)).load(), 1U);
  EXPECT_EQ(counters_.clock(WorkerIndex(0)).load(), 1U);
  EXPECT_EQ(counters_.bytes_pushed.load(), 16U);
}

TEST_F(ShardTest, AppliesTheSamePushOnce) {
  ASSERT_EQ(Send({}), wire::Code::Ok);
  ASSERT_EQ(Send({}), wire::Code::Ok);
  EXPECT_EQ(output_.acks.back().duplicate(), 1);
  EXPECT_EQ(counters_.duplicates.load(), 1U);
  ASSERT_EQ(Send({.sequence = 2}), wire::Code::Ok);
  ASSERT_EQ(Send({.sequence = 1}), wire::Code::Ok);
  EXPECT_EQ(output_.acks.back().duplicate(), 1);
  EXPECT_THAT(store_.values(BlockId(0)), Each(-2.0F));
  // The same sequence of another worker is another push.
  ASSERT_EQ(Send({.worker = 1}), wire::Code::Ok);
  EXPECT_THAT(store_.values(BlockId(0)), Each(-3.0F));
}

TEST_F(ShardTest, MeasuresStalenessInVersions) {
  Send({.sequence = 1, .base = 0});
  Send({.sequence = 2, .base = 0});
  Send({.sequence = 3, .base = 2});
  EXPECT_EQ(counters_.staleness[0].load(), 2U);
  EXPECT_EQ(counters_.staleness[1].load(), 1U);
  for (std::uint64_t s = 4; s < 300; ++s) Send({.sequence = s, .base = s - 1});
  Send({.sequence = 300, .base = 0});
  EXPECT_EQ(counters_.staleness[kStalenessBuckets - 1].load(), 1U);
}

TEST_F(ShardTest, AnswersAndClosesOnWhatNoCorrectWorkerSends) {
  const std::vector<Push> bad = {{.sequence = 0},     {.block = BlockId(1)}, {.block = BlockId(99)},
                                 {.blocks_here = 0},  {.blocks_here = 2},    {.extra_bytes = 1},
                                 {.extra_bytes = -4}, {.base = 1},           {.codec = 1}};
  for (const Push& push : bad) {
    const std::size_t closed = output_.closed.size();
    EXPECT_EQ(Send(push), wire::Code::Invalid);
    EXPECT_TRUE(answered_);
    EXPECT_EQ(output_.closed.size(), closed + 1);
  }
  EXPECT_THAT(store_.values(BlockId(0)), Each(0.0F));
}

TEST_F(ShardTest, ClosesWithoutAnAnswerWhenTheNameIsFalse) {
  Send({.claimed = 1});
  EXPECT_FALSE(answered_);
  ASSERT_EQ(output_.closed.size(), 1U);
  EXPECT_THAT(output_.closed[0].second, HasSubstr("names worker 1"));
  Send({.worker = 9});
  EXPECT_EQ(output_.closed.size(), 2U);
}

TEST_F(ShardTest, RefusesOtherViewsWithItsOwnNumber) {
  View(5, {0, 1, 2});
  EXPECT_EQ(Send({.view = 4}), wire::Code::StaleView);
  EXPECT_EQ(output_.acks.back().view(), 5U);
  EXPECT_EQ(Send({.view = 6}), wire::Code::StaleView);
  EXPECT_EQ(output_.acks.back().view(), 5U);
  EXPECT_EQ(counters_.refused.load(), 2U);
  EXPECT_EQ(Send({.view = 5}), wire::Code::Ok);
  View(4, {});  // late: ignored
  EXPECT_EQ(shard_.view(), ViewNumber(5));
  EXPECT_EQ(Send({.sequence = 2, .view = 5}), wire::Code::Ok);
}

TEST_F(ShardTest, FencesTheIncarnationThatIsOver) {
  Send({});
  View(2, {1, 2});
  EXPECT_EQ(Send({.sequence = 2, .view = 1}), wire::Code::Fenced);
  EXPECT_EQ(Send({.sequence = 2, .view = 2}), wire::Code::Fenced);
  shard_.OnView(ViewNumber(3), std::vector<LiveWorker>{{WorkerIndex(0), Incarnation(900)}});
  EXPECT_EQ(Send({.sequence = 2, .view = 1}), wire::Code::Fenced);
  // The new life counts from 1 again, and its clock from 0.
  EXPECT_EQ(counters_.clock(WorkerIndex(0)).load(), 0U);
  EXPECT_EQ(Send({.incarnation = 900, .sequence = 1, .view = 3}), wire::Code::Ok);
  EXPECT_EQ(output_.acks.back().duplicate(), 0);
  EXPECT_THAT(store_.values(BlockId(0)), Each(-2.0F));
  EXPECT_EQ(counters_.applied(WorkerIndex(0)).load(), 2U);
}

TEST_F(ShardTest, ANewcomerWhoseViewIsOldIsToldToWait) {
  View(2, {1, 2});
  EXPECT_EQ(Send({.incarnation = 900, .view = 0}), wire::Code::StaleView);
  EXPECT_EQ(Send({.incarnation = 900, .view = 3}), wire::Code::StaleView);
  EXPECT_EQ(Send({.incarnation = 900, .view = 2}), wire::Code::Fenced);
}

TEST_F(ShardTest, ServesAPullFromOneVersionWhilePushesGoOn) {
  Send({});
  Pull(1);
  ASSERT_EQ(output_.blocks.size(), 1U);
  EXPECT_EQ(output_.blocks[0].header.version(), 1U);
  EXPECT_EQ(output_.blocks[0].header.code(), wire::Code::Ok);
  Send({.sequence = 2});
  EXPECT_THAT(output_.blocks[0].pin.values, Each(-1.0F));
  EXPECT_THAT(store_.values(BlockId(0)), Each(-2.0F));
  shard_.OnBlockSent(WorkerIndex(0), output_.blocks[0].pin);
  EXPECT_EQ(counters_.bytes_pulled.load(), 16U);
}

// As a worker does whose block has arrived before the fabric tells the shard that it was read.
TEST_F(ShardTest, OwesWhatIsAskedForBeyondThePullCreditsUntilABlockWasSent) {
  Pull(1, 1);
  Pull(1, 2);
  Pull(1, 3);
  ASSERT_EQ(output_.blocks.size(), 2U);
  EXPECT_TRUE(output_.refusals.empty());
  EXPECT_EQ(counters_.bytes_pulled.load(), 32U);
  Send({});
  shard_.OnBlockSent(WorkerIndex(0), output_.blocks[0].pin);
  ASSERT_EQ(output_.blocks.size(), 3U);
  EXPECT_EQ(output_.blocks[2].header.request(), 3U);
  EXPECT_EQ(output_.blocks[2].header.version(), 1U) << "as it is when it is sent";
  shard_.OnBlockSent(WorkerIndex(0), output_.blocks[1].pin);
  EXPECT_EQ(output_.blocks.size(), 3U);
}

TEST_F(ShardTest, OwesABlockOnceHoweverOftenItIsAskedFor) {
  Pull(1, 1);
  Pull(1, 2);
  for (int i = 0; i < 100; ++i) Pull(1, 3);
  EXPECT_TRUE(output_.refusals.empty());
  for (std::size_t i = 0; i < output_.blocks.size(); ++i) {
    shard_.OnBlockSent(WorkerIndex(0), output_.blocks[i].pin);
  }
  EXPECT_EQ(output_.blocks.size(), 3U);
  EXPECT_EQ(store_.free_spares(), 1);
}

TEST_F(ShardTest, OwesNothingOfAnEarlierPull) {
  for (std::uint64_t request : {1U, 2U, 4U, 3U, 5U, 4U}) Pull(1, request);
  EXPECT_TRUE(output_.refusals.empty());
  for (std::size_t i = 0; i < output_.blocks.size(); ++i) {
    shard_.OnBlockSent(WorkerIndex(0), output_.blocks[i].pin);
  }
  ASSERT_EQ(output_.blocks.size(), 3U);
  EXPECT_EQ(output_.blocks[2].header.request(), 5U);
}

TEST_F(ShardTest, WhatIsOwedEndsWithItsView) {
  for (std::uint64_t request : {1U, 2U, 3U}) Pull(1, request);
  View(2, {0, 1, 2});
  ASSERT_EQ(output_.refusals.size(), 1U);
  EXPECT_EQ(output_.refusals[0].code(), wire::Code::StaleView);
  EXPECT_EQ(output_.refusals[0].request(), 3U);
  EXPECT_EQ(output_.refusals[0].view(), 2U);
  shard_.OnBlockSent(WorkerIndex(0), output_.blocks[0].pin);
  EXPECT_EQ(output_.blocks.size(), 2U);
}

TEST_F(ShardTest, WhatIsOwedEndsWithItsWorker) {
  for (std::uint64_t request : {1U, 2U, 3U}) Pull(1, request);
  View(2, {1, 2});
  shard_.OnView(ViewNumber(3), std::vector<LiveWorker>{{WorkerIndex(0), Incarnation(900)}});
  EXPECT_TRUE(output_.refusals.empty());
  // What is being read for the one before still counts.
  Pull(1, 1, 3, 900);
  EXPECT_EQ(output_.blocks.size(), 2U);
  shard_.OnBlockSent(WorkerIndex(0), output_.blocks[0].pin);
  ASSERT_EQ(output_.blocks.size(), 3U);
  EXPECT_EQ(output_.blocks[2].header.view(), 3U);
}

TEST_F(ShardTest, RefusesPullsThatMakeNoSense) {
  Pull(0);
  Pull(2);
  Pull(std::numeric_limits<std::uint32_t>::max());
  Pull(1, 0);
  Pull(1, 1, 1, 101, 1);
  Pull(1, 1, 1, 101, 99);
  ASSERT_EQ(output_.refusals.size(), 6U);
  for (const auto& refusal : output_.refusals) EXPECT_EQ(refusal.code(), wire::Code::Invalid);
  EXPECT_EQ(output_.closed.size(), 6U);
  EXPECT_TRUE(output_.blocks.empty());
}

TEST_F(ShardTest, RefusesPullsOfOtherViewsAndIncarnations) {
  Pull(1, 1, 2);
  EXPECT_EQ(output_.refusals.back().code(), wire::Code::StaleView);
  EXPECT_EQ(output_.refusals.back().view(), 1U);
  Pull(1, 1, 1, 999);
  EXPECT_EQ(output_.refusals.back().code(), wire::Code::Fenced);
}

TEST_F(ShardTest, APushWithoutASpareSlotIsBusyAndChangesNothing) {
  Pull(1, 1);
  Send({.sequence = 1});
  Pull(1, 2);
  EXPECT_EQ(Send({.sequence = 2}), wire::Code::Busy);
  EXPECT_EQ(store_.version(BlockId(0)), Version(1));
  shard_.OnBlockSent(WorkerIndex(0), output_.blocks[0].pin);
  EXPECT_EQ(Send({.sequence = 2}), wire::Code::Ok);
  EXPECT_EQ(output_.acks.back().duplicate(), 0);
}

TEST_F(ShardTest, ASnapshotKeepsItsCut) {
  Send({});
  const Shard::Snapshot snapshot = shard_.BeginSnapshot();
  Send({.sequence = 2});
  ASSERT_EQ(snapshot.pins.size(), 1U);
  EXPECT_THAT(snapshot.pins[0].values, Each(-1.0F));
  EXPECT_THAT(snapshot.worker_clocks, ElementsAre(WorkerClock(1), WorkerClock(0), WorkerClock(0)));
  shard_.ReleaseSnapshotBlock(snapshot.pins[0]);
  Send({.sequence = 3});
  EXPECT_EQ(store_.free_spares(), 1);
}

// Five blocks on one shard: pushes and pulls of several blocks.
class ManyBlocksTest : public ::testing::Test {
 protected:
  ManyBlocksTest()
      : layout_(MakeLayout({4, 4, 4, 4, 4}, 1)),
        memory_(BlockStore::BytesNeeded(layout_, ShardIndex(0), 0)),
        store_(layout_, ShardIndex(0), 0, memory_.bytes()),
        counters_(1),
        shard_(layout_, {.shard = ShardIndex(0), .max_steps = Step(9), .pull_credits = 2}, store_,
               counters_, output_) {
    shard_.OnView(ViewNumber(1), std::vector<LiveWorker>{{WorkerIndex(0), Incarnation(5)}});
  }

  void Push(std::uint64_t sequence, std::uint32_t block, std::uint32_t blocks_here = 3) {
    const std::vector<float> gradient(4, 1.0F);
    shard_.OnPush(WorkerIndex(0),
                  wire::PushBlock(1, 5, sequence, 0, 1, 1, block,
                                  static_cast<std::uint32_t>(sequence), blocks_here, 0, 0, 0),
                  std::as_bytes(std::span(gradient)));
  }

  const Layout layout_;
  AlignedMemory memory_;
  BlockStore store_;
  ShardCounters counters_;
  RecordingShardOutput output_;
  Shard shard_;
};

TEST_F(ManyBlocksTest, TheClockAdvancesWithTheLastBlockInAnyOrder) {
  Push(1, 2);
  Push(1, 0);
  Push(1, 0);
  EXPECT_EQ(counters_.clock(WorkerIndex(0)).load(), 0U);
  Push(1, 1);
  EXPECT_EQ(counters_.clock(WorkerIndex(0)).load(), 1U);
  EXPECT_EQ(counters_.applied(WorkerIndex(0)).load(), 1U);
}

TEST_F(ManyBlocksTest, APushMayNotChangeItsNumberOfBlocks) {
  Push(1, 0, 3);
  Push(1, 1, 2);
  EXPECT_EQ(output_.acks.back().code(), wire::Code::Invalid);
  EXPECT_EQ(output_.closed.size(), 1U);
  EXPECT_EQ(store_.version(BlockId(1)), Version(0));
}

TEST_F(ManyBlocksTest, ALateBlockOfAnAbandonedPushIsNeitherAppliedNorAcknowledged) {
  Push(1, 0);
  Push(2, 0);
  const std::size_t acks = output_.acks.size();
  Push(1, 1);
  EXPECT_EQ(output_.acks.size(), acks);
  EXPECT_EQ(store_.version(BlockId(1)), Version(0));
}

// Two at once by its credits, two more one by one, and no more than these are remembered.
TEST_F(ManyBlocksTest, APullServesARunInOrderAndIsBusyForWhatIsBeyondTwiceTheCredits) {
  shard_.OnPull(WorkerIndex(0), wire::PullRequest(1, 5, 1, 1, 0, 5, 0, 0));
  EXPECT_EQ(output_.blocks.size(), 2U);
  ASSERT_EQ(output_.refusals.size(), 1U);
  EXPECT_EQ(output_.refusals[0].block(), 4U);
  EXPECT_EQ(output_.refusals[0].code(), wire::Code::Busy);
  for (std::size_t i = 0; i < output_.blocks.size(); ++i) {
    shard_.OnBlockSent(WorkerIndex(0), output_.blocks[i].pin);
  }
  ASSERT_EQ(output_.blocks.size(), 4U);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(output_.blocks[i].header.block(), i);
}

TEST(EmptyShardTest, IsAFullMemberThatHoldsNothing) {
  const Layout layout = MakeLayout({4}, 2);
  const ShardIndex index(1);
  AlignedMemory memory(BlockStore::BytesNeeded(layout, index, 1));
  BlockStore store(layout, index, 1, memory.bytes());
  ShardCounters counters(1);
  RecordingShardOutput output;
  Shard shard(layout, {.shard = index, .max_steps = Step(1)}, store, counters, output);
  shard.OnView(ViewNumber(3), std::vector<LiveWorker>{{WorkerIndex(0), Incarnation(5)}});
  EXPECT_EQ(shard.view(), ViewNumber(3));
  EXPECT_TRUE(shard.BeginSnapshot().pins.empty());
  EXPECT_TRUE(shard.BeginSnapshot().pins.empty());
  shard.OnPull(WorkerIndex(0), wire::PullRequest(1, 5, 1, 3, 0, 1, 0, 0));
  EXPECT_EQ(output.refusals.back().code(), wire::Code::Invalid);
}

}  // namespace
}  // namespace weir::ps
