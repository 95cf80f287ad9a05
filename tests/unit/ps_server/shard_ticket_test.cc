#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ps_server/logic/shard.h"
#include "tests/unit/ps_server/shard_fixture.h"

namespace weir::ps {
namespace {

using ::testing::ElementsAre;
using wire::TicketAction;
using wire::TicketOutcome;

class ShardTicketTest : public ShardFixture {  // steps 1 to 3
 protected:
  // Sends a request and returns how many answers came, to anybody.
  std::size_t Ask(int worker, std::uint64_t request, std::uint64_t completed = 0,
                  TicketAction action = TicketAction::Next, std::uint32_t view = 1) {
    const std::size_t before = output_.tickets.size();
    const auto index = static_cast<std::uint16_t>(worker);
    shard_.OnTicket(WorkerIndex(index), wire::TicketRequest(70U + index, 101U + index, request,
                                                            completed, view, index, action, 0));
    return output_.tickets.size() - before;
  }
  void ExpectLast(int worker, std::uint64_t request, TicketOutcome outcome, std::uint64_t step) {
    ASSERT_FALSE(output_.tickets.empty());
    const auto& [to, reply] = output_.tickets.back();
    EXPECT_EQ(to.value(), worker);
    EXPECT_EQ(reply.session(), 70U + static_cast<unsigned>(worker));
    EXPECT_EQ(reply.request(), request);
    EXPECT_EQ(reply.outcome(), outcome);
    EXPECT_EQ(reply.step(), step);
  }
};

TEST_F(ShardTicketTest, GrantsStepsCountsThemAndFinishesAtMax) {
  Ask(0, 1);
  ExpectLast(0, 1, TicketOutcome::Granted, 1);
  Ask(0, 2, 1);
  ExpectLast(0, 2, TicketOutcome::Granted, 2);
  Ask(0, 3, 2);
  Ask(0, 4, 3);
  ExpectLast(0, 4, TicketOutcome::Finished, 3);
  EXPECT_TRUE(shard_.finished());
  EXPECT_THAT(output_.steps, ElementsAre(Step(1), Step(2), Step(3)));
  EXPECT_EQ(counters_.completed(WorkerIndex(0)).load(), 3U);
  EXPECT_EQ(counters_.global_step.load(), 3U);
}

TEST_F(ShardTicketTest, ARepetitionGetsTheSameAnswerAndCountsOnce) {
  Ask(0, 1);
  Ask(0, 2, 1);
  Ask(0, 2, 1);
  ExpectLast(0, 2, TicketOutcome::Granted, 2);
  EXPECT_EQ(shard_.global_step(), Step(1));
  EXPECT_EQ(Ask(0, 1), 0U) << "an older request is dropped";
}

TEST_F(ShardTicketTest, WaitsWhileAllStepsAreInOtherHands) {
  Ask(0, 1);
  Ask(1, 1);
  Ask(2, 1);  // 1, 2, 3 are out
  EXPECT_EQ(Ask(0, 2, 1), 0U);
  EXPECT_EQ(Ask(0, 2, 1), 0U);
  // Worker 1 gives its step back: worker 0 gets it.
  EXPECT_EQ(Ask(1, 2, 0, TicketAction::Release), 2U);
  ExpectLast(0, 2, TicketOutcome::Granted, 2);
  EXPECT_EQ(output_.tickets[output_.tickets.size() - 2].second.outcome(), TicketOutcome::Released);
  EXPECT_EQ(Ask(2, 2, 3), 0U);
  EXPECT_EQ(Ask(0, 3, 2), 2U) << "the end is told to whoever waits";
  ExpectLast(2, 2, TicketOutcome::Finished, 3);
}

TEST_F(ShardTicketTest, ReleaseCountsWhatWasDone) {
  Ask(0, 1);
  Ask(0, 2, 1, TicketAction::Release);
  ExpectLast(0, 2, TicketOutcome::Released, 1);
  EXPECT_EQ(shard_.global_step(), Step(1));
  Ask(0, 2, 1, TicketAction::Release);
  ExpectLast(0, 2, TicketOutcome::Released, 1);
}

TEST_F(ShardTicketTest, ADeadWorkersStepIsHandedToWhoWaits) {
  Ask(0, 1);
  Ask(1, 1);
  Ask(2, 1);
  EXPECT_EQ(Ask(2, 2, 3), 0U);
  View(2, {1, 2});
  ExpectLast(2, 2, TicketOutcome::Granted, 1);
  EXPECT_EQ(output_.tickets.back().second.view(), 2U);
  Ask(0, 2, 1, TicketAction::Next, 1);
  ExpectLast(0, 2, TicketOutcome::Fenced, 1);
  EXPECT_EQ(shard_.global_step(), Step(1));
}

TEST_F(ShardTicketTest, ADeadWorkersWaitIsForgotten) {
  Ask(0, 1);
  Ask(1, 1);
  Ask(2, 1);
  EXPECT_EQ(Ask(2, 2, 3), 0U);
  View(2, {0, 1});
  const std::size_t before = output_.tickets.size();
  Ask(0, 2, 1, TicketAction::Release, 2);
  EXPECT_EQ(output_.tickets.size(), before + 1);
}

TEST_F(ShardTicketTest, StopTrainingFinishesWaitingAndLaterRequests) {
  Ask(0, 1);
  Ask(1, 1);
  Ask(2, 1);
  EXPECT_EQ(Ask(2, 2, 3), 0U);
  shard_.StopTraining();
  ExpectLast(2, 2, TicketOutcome::Finished, 1);
  Ask(0, 2, 1);
  ExpectLast(0, 2, TicketOutcome::Finished, 2);
  EXPECT_FALSE(shard_.finished());
}

TEST_F(ShardTicketTest, WhoAsksAgainWithoutCompletingKeepsItsStep) {
  Ask(0, 1);
  Ask(0, 2);
  ExpectLast(0, 2, TicketOutcome::Granted, 1);
  EXPECT_EQ(shard_.global_step(), Step(0));
}

TEST_F(ShardTicketTest, CountsNothingThatTheWorkerDoesNotHold) {
  Ask(0, 1);
  Ask(1, 1, 1);
  EXPECT_EQ(shard_.global_step(), Step(0));
}

TEST_F(ShardTicketTest, OtherViewsAreNotRemembered) {
  Ask(0, 1, 0, TicketAction::Next, 2);
  ExpectLast(0, 1, TicketOutcome::StaleView, 0);
  View(2, {0, 1, 2});
  Ask(0, 1, 0, TicketAction::Next, 2);
  ExpectLast(0, 1, TicketOutcome::Granted, 1);
}

TEST_F(ShardTicketTest, RefusesWhatMakesNoSense) {
  Ask(0, 0);
  ExpectLast(0, 0, TicketOutcome::Invalid, 0);
  Ask(0, 1, 0, static_cast<TicketAction>(9));
  ExpectLast(0, 1, TicketOutcome::Invalid, 0);
  EXPECT_EQ(output_.closed.size(), 2U);
}

TEST(ShardWithoutCounterTest, TicketsAreInvalid) {
  const Layout layout = MakeLayout({4}, 1);
  AlignedMemory memory(BlockStore::BytesNeeded(layout, ShardIndex(0), 0));
  BlockStore store(layout, ShardIndex(0), 0, memory.bytes());
  ShardCounters counters(1);
  RecordingShardOutput output;
  Shard shard(layout, {.shard = ShardIndex(0), .max_steps = Step(1)}, store, counters, output);
  shard.OnView(ViewNumber(1), std::vector<LiveWorker>{{WorkerIndex(0), Incarnation(5)}});
  shard.OnTicket(WorkerIndex(0), wire::TicketRequest(1, 5, 1, 0, 1, 0, TicketAction::Next, 0));
  ASSERT_EQ(output.tickets.size(), 1U);
  EXPECT_EQ(output.tickets[0].second.outcome(), TicketOutcome::Invalid);
}

}  // namespace
}  // namespace weir::ps
