// The way to the next step: the ticket, and weights that are fresh when it is granted.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/client_fixture.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::TicketAction;
using wire::TicketOutcome;

constexpr absl::Duration kPatience = absl::Seconds(10);

class StepOperationTest : public ClientFixture {
 protected:
  void Start(NextWeights weights = NextWeights::kPullAll) {
    client_.StartNextStep(now_, Step(6), weights, kPatience);
  }
  void PullAll(std::uint64_t request = 1) {
    for (std::uint32_t block : {0U, 1U, 2U, 3U, 4U}) Block(block, wire::Code::Ok, request);
  }
  absl::StatusCode code() const { return client_.next_step_result()->status().code(); }
};

TEST_F(StepOperationTest, AsksForTheTicketAndTheWeightsAtOnce) {
  Start();
  ASSERT_EQ(output_.tickets.size(), 1U);
  EXPECT_EQ(output_.tickets[0].second.completed(), 6U);
  EXPECT_EQ(output_.tickets[0].second.action(), TicketAction::Next);
  EXPECT_THAT(AskedBlocks(1), ElementsAre(0, 2, 1));
  EXPECT_EQ(client_.next_step_result(), std::nullopt);
}

TEST_F(StepOperationTest, EndsWithTheTicketWhileThePullGoesOn) {
  Start();
  Block(0);
  Reply(TicketOutcome::Granted, 1, 7);
  ASSERT_TRUE(client_.next_step_result().has_value());
  EXPECT_EQ((*client_.next_step_result())->step, Step(7));
  EXPECT_EQ(client_.pull_result(), std::nullopt);
  Block(1), Block(2), Block(3), Block(4);
  EXPECT_EQ(client_.pull_result(), absl::OkStatus());
}

TEST_F(StepOperationTest, WeightsThatWaitedWithTheTicketArePulledAgain) {
  Start();
  PullAll();
  Advance(absl::Milliseconds(20));
  Reply(TicketOutcome::Granted, 1, 7);
  EXPECT_EQ(client_.pull_result(), absl::OkStatus()) << "20 ms are fresh enough";

  Start();
  PullAll(2);
  Advance(absl::Milliseconds(21));
  Reply(TicketOutcome::Granted, 2, 8);
  EXPECT_EQ(client_.pull_result(), std::nullopt);
  EXPECT_THAT(AskedBlocks(3), ElementsAre(0, 2, 1));
  EXPECT_EQ((*client_.next_step_result())->step, Step(8));
}

TEST_F(StepOperationTest, APullThatEndedLateIsFreshHoweverLongTheTicketTook) {
  Start();
  Advance(absl::Milliseconds(500));
  PullAll();
  Reply(TicketOutcome::Granted);
  EXPECT_EQ(client_.pull_result(), absl::OkStatus());
}

TEST_F(StepOperationTest, TheTicketAloneWhereNoWeightsAreWanted) {
  Start(NextWeights::kNone);
  EXPECT_THAT(AskedBlocks(1), IsEmpty());
  Advance(absl::Seconds(1));
  Reply(TicketOutcome::Granted, 1, 7);
  EXPECT_EQ((*client_.next_step_result())->step, Step(7));
  EXPECT_THAT(AskedBlocks(1), IsEmpty());
}

TEST_F(StepOperationTest, NothingIsPulledAgainWhenThereIsNoStep) {
  Start();
  PullAll();
  Advance(absl::Seconds(1));
  Reply(TicketOutcome::Finished, 1, 9);
  EXPECT_EQ((*client_.next_step_result())->outcome, TicketOutcome::Finished);
  EXPECT_THAT(AskedBlocks(2), IsEmpty());
}

TEST_F(StepOperationTest, ARequestThatWaitsInVainIsMadeAnewAsOftenAsItTakes) {
  Start();
  PullAll();
  for (std::uint64_t renewal = 1; renewal <= 5; ++renewal) {
    Advance(kPatience);
    EXPECT_EQ(client_.next_step_result(), std::nullopt);
    EXPECT_EQ(client_.ticket_renewals(), renewal);
    EXPECT_EQ(output_.tickets.back().second.request(), renewal + 1);
    EXPECT_EQ(output_.tickets.back().second.completed(), 6U) << "it counts once";
  }
  Reply(TicketOutcome::Granted, 6, 7);
  EXPECT_EQ((*client_.next_step_result())->step, Step(7));
}

// An Abort may carry any code, that of a deadline too: the lease's, say.
TEST_F(StepOperationTest, AnAbortEndsItWhateverItsCode) {
  Start();
  const absl::Status why = absl::DeadlineExceededError("the lease ran out");
  client_.Abort(now_, why);
  EXPECT_EQ(client_.next_step_result()->status(), why);
  EXPECT_EQ(client_.pull_result(), why);
  EXPECT_EQ(client_.next_tick(), absl::InfiniteFuture());
  Advance(10 * kPatience);
  EXPECT_EQ(output_.tickets.size(), 1U);
}

TEST_F(StepOperationTest, APullThatFailsEndsTheWait) {
  Start();
  client_.OnPeerDown(now_, kB, absl::UnavailableError("connection reset"));
  EXPECT_EQ(code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(client_.next_step_result()->status().message()),
              HasSubstr("pull at ps 1"));
  EXPECT_EQ(client_.next_tick(), absl::InfiniteFuture());
}

TEST_F(StepOperationTest, AFencedTicketEndsIt) {
  Start();
  Reply(TicketOutcome::Fenced);
  EXPECT_EQ(code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(StepOperationTest, AnInterruptEndsTheWaitAndLeavesTheRelease) {
  Start();
  PullAll();
  client_.Interrupt();
  EXPECT_EQ(code(), absl::StatusCode::kCancelled);
  Reply(TicketOutcome::Granted, 1, 7);
  EXPECT_EQ(code(), absl::StatusCode::kCancelled) << "too late";
  client_.StartTicket(now_, Step(6), TicketAction::Release, deadline_);
  EXPECT_EQ(output_.tickets.back().second.request(), 2U);
  EXPECT_EQ(output_.tickets.back().second.completed(), 6U);
  Reply(TicketOutcome::Released, 2, 6);
  EXPECT_EQ((*client_.ticket_result())->outcome, TicketOutcome::Released);
}

TEST_F(StepOperationTest, AnInterruptWithoutAWaitDoesNothing) {
  Start();
  Reply(TicketOutcome::Granted, 1, 7);
  client_.Interrupt();
  EXPECT_TRUE(client_.next_step_result()->ok());
}

TEST_F(StepOperationTest, APullThatWasLeftEndsWhereItStands) {
  Start();
  Block(0);
  Reply(TicketOutcome::Finished);
  client_.StartPull(now_, deadline_);
  Block(2);
  EXPECT_EQ(output_.delivered.size(), 1U) << "of the pull before";
  PullAll(2);
  EXPECT_EQ(client_.pull_result(), absl::OkStatus());
  EXPECT_EQ(output_.delivered.size(), 6U);
}

}  // namespace
}  // namespace weir
