#include "worker/client/logic/block_window.h"

#include "gtest/gtest.h"

namespace weir::client {
namespace {

const absl::Time kStart = absl::UnixEpoch();
const absl::Time kDue = kStart + absl::Seconds(1);
constexpr Backoff kBackoff{absl::Milliseconds(2), absl::Milliseconds(10)};

void StartAll(BlockWindow& window, std::size_t blocks) {
  window.Start();
  for (std::size_t i = 0; i < blocks; ++i) EXPECT_TRUE(window.Release(kStart, i));
}

class BlockWindowTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBlocks = 6;
  BlockWindowTest() : window_(kBlocks) {
    window_.set_credits(3);
    StartAll(window_, kBlocks);
  }
  void ExpectTake(std::size_t most, std::size_t first, std::size_t count) {
    const BlockRun run = window_.Take(kDue, most);
    EXPECT_EQ(run.count, count);
    if (count > 0) {
      EXPECT_EQ(run.first, first);
    }
  }
  BlockWindow window_;
};

TEST_F(BlockWindowTest, TakesRunsWithinTheCredits) {
  ExpectTake(10, 0, 3);
  ExpectTake(10, 0, 0);
  EXPECT_EQ(window_.used(), 3);
  EXPECT_TRUE(window_.Finish(1));
  EXPECT_FALSE(window_.Finish(1));
  ExpectTake(10, 3, 1);
  EXPECT_EQ(window_.remaining(), 5U);
}

TEST_F(BlockWindowTest, ARunEndsWhereTheBlocksAreNotNeighbours) {
  ExpectTake(1, 0, 1);
  ExpectTake(1, 1, 1);
  EXPECT_TRUE(window_.Delay(kStart, 0, kBackoff));
  EXPECT_TRUE(window_.Finish(1));
  for (std::size_t i = 2; i < 5; ++i) ExpectTake(1, i, 1);
  for (std::size_t i = 2; i < 5; ++i) window_.Finish(i);
  window_.Expire(kStart + absl::Milliseconds(2));
  ExpectTake(10, 5, 1);
  ExpectTake(10, 0, 1);
}

TEST_F(BlockWindowTest, ACreditIsHeldUntilAnsweredAndRead) {
  ExpectTake(1, 0, 1);
  window_.BytesLent(0);
  window_.Finish(0);
  EXPECT_EQ(window_.used(), 1);
  window_.BytesRead(kStart, 0);
  EXPECT_EQ(window_.used(), 0);
  EXPECT_EQ(window_.reading(), 0);
}

TEST_F(BlockWindowTest, BytesThatAreBeingReadAreNotLentAgain) {
  ExpectTake(1, 0, 1);
  window_.BytesLent(0);
  EXPECT_EQ(window_.next_due(), absl::InfiniteFuture());
  window_.Expire(kDue);
  ExpectTake(1, 1, 1);  // not 0
  window_.BytesRead(kDue, 0);
  ExpectTake(1, 0, 1);
  EXPECT_EQ(window_.used(), 2) << "the repetition uses the credit of the first send";
}

TEST_F(BlockWindowTest, RepetitionsGoFirstInOrderAndWithoutNewCredits) {
  ExpectTake(10, 0, 3);
  window_.Finish(1);
  ExpectTake(10, 3, 1);
  window_.Expire(kDue);
  EXPECT_EQ(window_.used(), 3);
  ExpectTake(10, 0, 1);
  const BlockRun rest = window_.Take(kDue, 10);
  EXPECT_EQ(rest.count, 1U + (rest.first == 2 ? 1U : 0U));
  window_.Take(kDue, 10);
  EXPECT_EQ(window_.used(), 3);
  ExpectTake(10, 0, 0);
}

TEST_F(BlockWindowTest, LateRefusalsAndAnswersOfWaitingBlocks) {
  ExpectTake(10, 0, 3);
  EXPECT_FALSE(window_.Delay(kStart, 4, kBackoff));
  EXPECT_TRUE(window_.Delay(kStart, 0, kBackoff));
  EXPECT_FALSE(window_.AwaitView(0));
  EXPECT_TRUE(window_.Finish(0)) << "the repetition was refused, the first one was not";
  EXPECT_TRUE(window_.AwaitView(1));
  EXPECT_EQ(window_.next_due(), kDue);  // block 2
  window_.ViewCame(kStart);
  window_.Finish(1);  // while it is ready to be sent again
  ExpectTake(10, 3, 2);
}

TEST_F(BlockWindowTest, ANewOperationWaitsForTheBytesOfTheLast) {
  ExpectTake(10, 0, 3);
  window_.BytesLent(1);
  window_.Stop();
  EXPECT_EQ(window_.next_due(), absl::InfiniteFuture());
  EXPECT_EQ(window_.used(), 1);
  StartAll(window_, kBlocks);
  ExpectTake(10, 0, 1);
  ExpectTake(10, 2, 1);
  window_.BytesRead(kStart, 1);
  ExpectTake(10, 3, 1);
  EXPECT_EQ(window_.used(), 3);
}

TEST_F(BlockWindowTest, HeldBlocksAreNotSentUntilTheyAreReleased) {
  window_.Start();
  EXPECT_EQ(window_.remaining(), kBlocks);
  EXPECT_EQ(window_.held(), kBlocks);
  ExpectTake(10, 0, 0);
  EXPECT_TRUE(window_.Release(kStart, 4));
  EXPECT_FALSE(window_.Release(kStart, 4)) << "once";
  EXPECT_TRUE(window_.Release(kStart, 1));
  EXPECT_EQ(window_.held(), kBlocks - 2);
  ExpectTake(10, 4, 1);
  ExpectTake(10, 1, 1);
  ExpectTake(10, 0, 0);
}

TEST_F(BlockWindowTest, AnAnswerForAHeldBlockIsNotBelieved) {
  window_.Start();
  EXPECT_FALSE(window_.Finish(3));
  EXPECT_FALSE(window_.Delay(kStart, 3, kBackoff));
  EXPECT_FALSE(window_.AwaitView(3));
  EXPECT_EQ(window_.remaining(), kBlocks);
  EXPECT_TRUE(window_.Release(kStart, 3));
  ExpectTake(10, 3, 1);
  EXPECT_TRUE(window_.Finish(3));
}

/// One block that is refused again and again.
class RefusedBlockTest : public ::testing::Test {
 protected:
  RefusedBlockTest() : window_(1) {
    window_.Start();
    window_.Release(now_, 0);
  }
  /// How long the block then waits.
  absl::Duration Refuse() {
    EXPECT_EQ(window_.Take(now_ + absl::Seconds(1), 1).count, 1U);
    EXPECT_TRUE(window_.Delay(now_, 0, kBackoff));
    const absl::Duration pause = window_.next_due() - now_;
    now_ = window_.next_due();
    window_.Expire(now_);
    return pause;
  }
  absl::Time now_ = kStart;
  BlockWindow window_;
};

TEST_F(RefusedBlockTest, WaitsTwiceAsLongEachTimeUpToTheMost) {
  for (const int ms : {2, 4, 8, 10, 10}) EXPECT_EQ(Refuse(), absl::Milliseconds(ms));
}

TEST_F(RefusedBlockTest, StartsAfreshWithANewViewAndANewOperation) {
  Refuse(), Refuse();
  window_.Take(now_ + absl::Seconds(1), 1);
  window_.ViewCame(now_);
  now_ += absl::Seconds(1);
  window_.Expire(now_);
  EXPECT_EQ(Refuse(), absl::Milliseconds(2));
  EXPECT_EQ(Refuse(), absl::Milliseconds(4));
  window_.Start();
  window_.Release(now_, 0);
  EXPECT_EQ(Refuse(), absl::Milliseconds(2));
}

TEST(BackoffTest, NeverPassesItsMostNorOverflows) {
  EXPECT_EQ(kBackoff.After(1), absl::Milliseconds(2));
  EXPECT_EQ(kBackoff.After(3), absl::Milliseconds(8));
  EXPECT_EQ(kBackoff.After(4), absl::Milliseconds(10));
  EXPECT_EQ(kBackoff.After(1000000), absl::Milliseconds(10));
}

TEST(EmptyBlockWindowTest, HasNothingToDo) {
  BlockWindow window(0);
  window.Start();
  EXPECT_EQ(window.Take(kDue, 5).count, 0U);
  EXPECT_EQ(window.remaining(), 0U);
  EXPECT_EQ(window.next_due(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace weir::client
