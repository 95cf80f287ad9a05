// A push whose gradients become ready one by one, and the pull that follows it block by block.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/client_fixture.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::Code;
using wire::TicketOutcome;

// Each tensor is one block here, of the same number.
class StepExchangeTest : public ClientFixture {
 protected:
  // Pull 1 brings every block at version 10 plus its number.
  void PullOwn() {
    client_.StartPull(now_, deadline_);
    for (std::uint32_t block : {0U, 1U, 2U, 3U, 4U}) Block(block, Code::Ok, 1, 10 + block);
    ASSERT_EQ(client_.pull_result(), absl::OkStatus());
  }
  void Start() { client_.StartExchange(now_, Step(7), deadline_); }
  bool Ready(std::size_t tensor) { return client_.GradientReady(now_, tensor); }
  void Acknowledge(std::uint32_t block, std::uint64_t sequence = 1) {
    Sent(block), Ack(block, Code::Ok, sequence);
  }
  std::string error() const { return std::string(client_.push_result()->message()); }
};

TEST_F(StepExchangeTest, SendsAGradientWhenItIsReadyAndNotBefore) {
  PullOwn();
  Start();
  EXPECT_THAT(PushedBlocks(), IsEmpty());
  EXPECT_TRUE(Ready(4));
  EXPECT_THAT(PushedBlocks(), ElementsAre(4));
  EXPECT_TRUE(Ready(1));
  EXPECT_TRUE(Ready(3));
  EXPECT_THAT(PushedBlocks(), ElementsAre(4, 1)) << "shard 1 has one credit";
  Acknowledge(1);
  EXPECT_THAT(PushedBlocks(), ElementsAre(4, 1, 3));
  const wire::PushBlock& header = output_.pushes[0].second;
  EXPECT_EQ(header.step(), 7U);
  EXPECT_EQ(header.sequence(), 1U);
  EXPECT_EQ(header.clock(), 1U);
  EXPECT_EQ(header.blocks_here(), 3U) << "all of the shard's, not only those that are ready";
}

TEST_F(StepExchangeTest, AsksForABlockOnceItsOwnPushIsAcknowledged) {
  PullOwn();
  Start();
  Ready(4), Ready(2);
  EXPECT_THAT(AskedBlocks(2), IsEmpty());
  Sent(4);
  EXPECT_THAT(AskedBlocks(2), IsEmpty());
  Ack(2);
  EXPECT_THAT(AskedBlocks(2), ElementsAre(2));
  Ack(4, Code::Busy);
  EXPECT_THAT(AskedBlocks(2), ElementsAre(2));
  Advance(absl::Milliseconds(5));
  Ack(4);
  EXPECT_THAT(AskedBlocks(2), ElementsAre(2, 4));
}

TEST_F(StepExchangeTest, ThePullStaysWithinItsCreditsToo) {
  PullOwn();
  Start();
  for (std::size_t tensor : {0U, 2U, 4U}) Ready(tensor);
  Acknowledge(0), Acknowledge(2), Acknowledge(4);
  EXPECT_THAT(AskedBlocks(2), ElementsAre(0, 2));
  Block(2, Code::Ok, 2);
  EXPECT_THAT(AskedBlocks(2), ElementsAre(0, 2, 4));
}

TEST_F(StepExchangeTest, EndsWhenAllIsAcknowledgedAndReadWhileThePullGoesOn) {
  PullOwn();
  Start();
  for (std::uint32_t block : {4U, 3U, 2U, 1U, 0U}) {
    EXPECT_FALSE(client_.all_gradients_ready());
    Ready(block);
    if (block != 0) Acknowledge(block);
  }
  EXPECT_TRUE(client_.all_gradients_ready());
  Ack(0);
  EXPECT_EQ(client_.push_result(), std::nullopt) << "block 0 is still being read";
  Sent(0);
  EXPECT_EQ(client_.push_result(), absl::OkStatus());
  EXPECT_EQ(client_.clock(), WorkerClock(1));
  EXPECT_EQ(client_.pull_result(), std::nullopt);
  for (std::uint32_t block : {4U, 3U, 2U, 1U, 0U}) Block(block, Code::Ok, 2);
  EXPECT_EQ(client_.pull_result(), absl::OkStatus());
}

TEST_F(StepExchangeTest, TheBaseVersionIsThatOfTheStepsOwnWeights) {
  PullOwn();
  Start();
  Ready(0), Ready(2), Ready(4);  // 4 waits for a credit
  Acknowledge(0);
  Block(0, Code::Ok, 2, 99);  // the next step's value
  Acknowledge(2);
  for (const auto& [to, header] : output_.pushes) {
    EXPECT_EQ(header.base_version(), 10 + header.block());
  }
  ASSERT_THAT(PushedBlocks(), ElementsAre(0, 2, 4));
  for (std::uint32_t block : {4U, 3U, 1U}) Ready(block), Acknowledge(block);
  for (std::uint32_t block : {1U, 2U, 3U, 4U}) Block(block, Code::Ok, 2, 99);
  Start();
  Ready(0);
  EXPECT_EQ(output_.pushes.back().second.base_version(), 99U);
}

TEST_F(StepExchangeTest, ARepetitionKeepsItsBaseVersion) {
  PullOwn();
  Start();
  Ready(0);
  Sent(0);
  Advance(absl::Seconds(1));
  ASSERT_THAT(PushedBlocks(), ElementsAre(0, 0));
  EXPECT_EQ(output_.pushes[1].second.base_version(), 10U);
  EXPECT_EQ(output_.pushes[1].second.sequence(), 1U);
}

TEST_F(StepExchangeTest, TheWeightsAreHereFromTheirDeliveryUntilTheirGradientIsReady) {
  client_.StartPull(now_, deadline_);
  EXPECT_FALSE(client_.WeightsHere(0)) << "no step";
  Start();
  EXPECT_FALSE(client_.WeightsHere(0));
  Block(0);
  EXPECT_TRUE(client_.WeightsHere(0));
  EXPECT_FALSE(client_.WeightsHere(1));
  for (std::uint32_t block : {1U, 2U, 3U, 4U}) Block(block);
  EXPECT_TRUE(client_.WeightsHere(0)) << "the next pull does not take them away";
  Ready(0);
  EXPECT_FALSE(client_.WeightsHere(0));
  EXPECT_TRUE(client_.WeightsHere(1));
}

// A model that reports a gradient whose weights it never read.
TEST_F(StepExchangeTest, AGradientThatIsReadyBeforeItsOwnPullIsCompleteWaitsForIt) {
  client_.StartPull(now_, deadline_);
  Block(0, Code::Ok, 1, 5);
  Start();
  EXPECT_TRUE(Ready(0));
  EXPECT_TRUE(Ready(3));
  EXPECT_THAT(PushedBlocks(), IsEmpty());
  for (std::uint32_t block : {1U, 2U, 3U, 4U}) Block(block, Code::Ok, 1, 6);
  EXPECT_THAT(PushedBlocks(), ElementsAre(0, 3));
  EXPECT_EQ(output_.pushes[0].second.base_version(), 5U);
  EXPECT_EQ(output_.pushes[1].second.base_version(), 6U);
  Acknowledge(3);
  EXPECT_THAT(AskedBlocks(2), ElementsAre(3));
}

TEST_F(StepExchangeTest, AnAcknowledgementOfWhatWasNotSentIsDropped) {
  PullOwn();
  Start();
  Ack(0);
  EXPECT_EQ(client_.messages_dropped(), 1U);
  EXPECT_THAT(AskedBlocks(2), IsEmpty());
  Block(0, Code::Ok, 2, 66);
  EXPECT_EQ(client_.messages_dropped(), 2U);
  EXPECT_EQ(client_.version(BlockId(0)), Version(10));
  Ready(0);
  EXPECT_THAT(PushedBlocks(), ElementsAre(0));
}

TEST_F(StepExchangeTest, AGradientIsReadyOnce) {
  EXPECT_FALSE(Ready(0)) << "no step";
  PullOwn();
  Start();
  EXPECT_TRUE(Ready(0));
  EXPECT_FALSE(Ready(0));
  EXPECT_THAT(PushedBlocks(), ElementsAre(0));
}

TEST_F(StepExchangeTest, TheNextStepUsesWhatFollowed) {
  PullOwn();
  Start();
  for (std::uint32_t block : {0U, 1U, 2U, 3U, 4U}) Ready(block), Acknowledge(block);
  Block(0, Code::Ok, 2);
  client_.StartNextStep(now_, Step(7), NextWeights::kFollowed, absl::Seconds(10));
  EXPECT_EQ(output_.tickets.back().second.completed(), 7U);
  Reply(TicketOutcome::Granted, 1, 8);
  Start();
  EXPECT_TRUE(client_.WeightsHere(0));
  EXPECT_FALSE(client_.WeightsHere(4));
  for (std::uint32_t block : {1U, 2U, 3U, 4U}) Block(block, Code::Ok, 2);
  EXPECT_TRUE(client_.WeightsHere(4));
  EXPECT_THAT(AskedBlocks(3), IsEmpty()) << "nothing is pulled twice";
}

TEST_F(StepExchangeTest, WhatFollowedIsPulledAgainIfTheTicketHadToWait) {
  PullOwn();
  Start();
  for (std::uint32_t block : {0U, 1U, 2U, 3U, 4U}) Ready(block), Acknowledge(block);
  for (std::uint32_t block : {0U, 1U, 2U, 3U, 4U}) Block(block, Code::Ok, 2);
  Advance(absl::Seconds(1));  // the caller's own: to read its next batch
  client_.StartNextStep(now_, Step(7), NextWeights::kFollowed, absl::Seconds(10));
  Advance(absl::Milliseconds(21));
  Reply(TicketOutcome::Granted, 1, 8);
  EXPECT_THAT(AskedBlocks(3), ElementsAre(0, 2, 1));
  Start();
  EXPECT_FALSE(client_.WeightsHere(0));
}

TEST_F(StepExchangeTest, AStaleViewHoldsUpThePullOfItsBlock) {
  PullOwn();
  Start();
  Ready(0);
  Sent(0), Ack(0, Code::StaleView, 1, 5);
  EXPECT_THAT(AskedBlocks(2), IsEmpty());
  client_.OnView(now_, ViewNumber(5));
  EXPECT_EQ(output_.pushes.back().second.view(), 5U);
  Acknowledge(0);
  EXPECT_THAT(AskedBlocks(2), ElementsAre(0));
}

TEST_F(StepExchangeTest, APushThatFailsEndsThePullBehindIt) {
  PullOwn();
  Start();
  Ready(0);
  Ack(0, Code::Fenced);
  EXPECT_EQ(client_.push_result()->code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(client_.pull_result(), client_.push_result());
  EXPECT_EQ(client_.next_tick(), absl::InfiniteFuture());
  EXPECT_FALSE(Ready(1));
}

TEST_F(StepExchangeTest, AnOwnPullThatFailsEndsThePush) {
  client_.StartPull(now_, deadline_);
  Start();
  Ready(4);
  Block(0, Code::Fenced);
  EXPECT_EQ(client_.push_result()->code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(error(), HasSubstr("pull at ps 0"));
}

TEST_F(StepExchangeTest, APeerThatIsDownEndsItAlsoBeforeAnythingIsReady) {
  PullOwn();
  Start();
  client_.OnPeerDown(now_, kB, absl::UnavailableError("connection reset"));
  EXPECT_EQ(client_.push_result()->code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(error(), HasSubstr("push at ps 1, blocks 1-3 (2 held back)"));
}

TEST_F(StepExchangeTest, TheCallersOwnTimeDoesNotCountIfItSaysSo) {
  PullOwn();
  Start();
  Ready(0), Sent(0);
  now_ = deadline_ + absl::Hours(1);
  client_.ExtendDeadlines(now_ + absl::Seconds(30));
  client_.OnTick(now_);
  EXPECT_EQ(client_.push_result(), std::nullopt);
  EXPECT_EQ(PushedBlocks().size(), 2U) << "it was due to be sent again";
  Advance(absl::Seconds(30));
  EXPECT_EQ(client_.push_result()->code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(client_.pull_result()->code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(StepExchangeTest, AStepThatIsGivenBackLeavesNothingBehind) {
  PullOwn();
  Start();
  client_.CancelExchange(now_);
  EXPECT_EQ(client_.push_result()->code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(client_.pull_result()->code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(client_.next_tick(), absl::InfiniteFuture());
  client_.StartPull(now_, deadline_);
  EXPECT_THAT(AskedBlocks(3), ElementsAre(0, 2, 1));
  client_.StartPush(now_, Step(8), deadline_);
  EXPECT_EQ(output_.pushes.back().second.sequence(), 2U);
}

TEST_F(StepExchangeTest, SequencesGoOnFromOneExchangeToTheNextAndToAPlainPush) {
  PullOwn();
  for (std::uint64_t sequence : {1U, 2U}) {
    Start();
    for (std::uint32_t block : {0U, 1U, 2U, 3U, 4U}) Ready(block), Acknowledge(block, sequence);
    for (std::uint32_t block : {0U, 1U, 2U, 3U, 4U}) Block(block, Code::Ok, sequence + 1);
    EXPECT_EQ(client_.push_result(), absl::OkStatus());
  }
  client_.StartPush(now_, Step(9), deadline_);
  EXPECT_EQ(output_.pushes.back().second.sequence(), 3U);
  Ack(0, Code::Ok, 3);
  EXPECT_THAT(AskedBlocks(4), IsEmpty()) << "nothing follows a plain push";
}

TEST_F(StepExchangeTest, ATensorWithoutElementsMayComeLast) {
  const Layout layout = MakeLayout({4, 0}, 1);
  ClientLogic client(layout, {.worker = WorkerIndex(0), .incarnation = Incarnation(1)}, output_);
  client.OnConnected(kA, {.session = 500});
  client.StartExchange(now_, Step(1), deadline_);
  EXPECT_TRUE(client.WeightsHere(1));
  EXPECT_TRUE(client.GradientReady(now_, 0));
  client.OnPushSent(now_, BlockId(0));
  client.OnPushAck(now_, kA, wire::PushAck(500, 1, 1, 0, 0, Code::Ok, 0, 0, 0));
  EXPECT_EQ(client.push_result(), absl::OkStatus());
  EXPECT_FALSE(client.all_gradients_ready());
  EXPECT_TRUE(client.GradientReady(now_, 1));
  EXPECT_TRUE(client.all_gradients_ready());
  EXPECT_FALSE(client.GradientReady(now_, 1));
}

}  // namespace
}  // namespace weir
