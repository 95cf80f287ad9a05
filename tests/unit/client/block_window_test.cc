#include "worker/client/logic/block_window.h"

#include "gtest/gtest.h"

namespace weir::client {
namespace {

const absl::Time kStart = absl::UnixEpoch();
const absl::Time kDue = kStart + absl::Seconds(1);

class BlockWindowTest : public ::testing::Test {
 protected:
  BlockWindowTest() : window_(6) {
    window_.set_credits(3);
    window_.Start(kStart);
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
  EXPECT_TRUE(window_.Delay(0, kStart));
  EXPECT_TRUE(window_.Finish(1));
  for (std::size_t i = 2; i < 5; ++i) ExpectTake(1, i, 1);
  for (std::size_t i = 2; i < 5; ++i) window_.Finish(i);
  window_.Expire(kStart);
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
  EXPECT_FALSE(window_.Delay(4, kDue));
  EXPECT_TRUE(window_.Delay(0, kDue));
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
  window_.Start(kStart);
  ExpectTake(10, 0, 1);
  ExpectTake(10, 2, 1);
  window_.BytesRead(kStart, 1);
  ExpectTake(10, 3, 1);
  EXPECT_EQ(window_.used(), 3);
}

TEST(EmptyBlockWindowTest, HasNothingToDo) {
  BlockWindow window(0);
  window.Start(kStart);
  EXPECT_EQ(window.Take(kDue, 5).count, 0U);
  EXPECT_EQ(window.remaining(), 0U);
  EXPECT_EQ(window.next_due(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace weir::client
