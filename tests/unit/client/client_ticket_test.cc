#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/client_fixture.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using wire::TicketAction;
using wire::TicketOutcome;

class ClientTicketTest : public ClientFixture {
 protected:
  void Start(std::optional<Step> completed = std::nullopt) {
    client_.StartTicket(now_, completed, TicketAction::Next, deadline_);
  }
};

TEST_F(ClientTicketTest, AsksTheFirstShardAndReportsItsAnswer) {
  Start(Step(6));
  ASSERT_EQ(output_.tickets.size(), 1U);
  EXPECT_EQ(output_.tickets[0].first, kA);
  EXPECT_EQ(output_.tickets[0].second.completed(), 6U);
  EXPECT_EQ(output_.tickets[0].second.request(), 1U);
  EXPECT_EQ(client_.ticket_result(), std::nullopt);
  Reply(TicketOutcome::Granted, 1, 8);
  ASSERT_TRUE(client_.ticket_result().has_value());
  EXPECT_EQ((*client_.ticket_result())->outcome, TicketOutcome::Granted);
  EXPECT_EQ((*client_.ticket_result())->step, Step(8));
  Start();
  EXPECT_EQ(client_.ticket_result(), std::nullopt);
  EXPECT_EQ(output_.tickets.back().second.request(), 2U);
  EXPECT_EQ(output_.tickets.back().second.completed(), 0U);
}

TEST_F(ClientTicketTest, RepeatsTheSameRequestUntilAnswered) {
  Start(Step(6));
  EXPECT_EQ(client_.next_tick(), now_ + absl::Seconds(1));
  Advance(absl::Seconds(1));
  ASSERT_EQ(output_.tickets.size(), 2U);
  EXPECT_EQ(output_.tickets[1].second.request(), 1U);
  EXPECT_EQ(output_.tickets[1].second.completed(), 6U);
  EXPECT_EQ(client_.next_tick(), now_ + absl::Seconds(1));
}

TEST_F(ClientTicketTest, DropsWhatDoesNotFit) {
  Start();
  Reply(TicketOutcome::Granted, 1, 1, 4, 999);
  EXPECT_EQ(client_.ticket_result(), std::nullopt);
  EXPECT_EQ(client_.messages_dropped(), 1U);
  EXPECT_TRUE(output_.closed.empty());
}

TEST_F(ClientTicketTest, ClosesAShardThatAnswersWhatNoShardDoes) {
  Start();
  Reply(TicketOutcome::Granted, 1, 1, 4, 501, kB);
  EXPECT_EQ(output_.closed, std::vector{kB});
  EXPECT_EQ(client_.ticket_result(), std::nullopt) << "its own shard is as good as before";
  Reply(TicketOutcome::Granted, 2);
  EXPECT_EQ(output_.closed, (std::vector{kB, kA}));
  ASSERT_TRUE(client_.ticket_result().has_value());
  EXPECT_EQ(client_.ticket_result()->status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ClientTicketTest, ClosesAShardWhoseOutcomeIsUnknown) {
  Start();
  Reply(static_cast<TicketOutcome>(99));
  EXPECT_EQ(output_.closed, std::vector{kA});
}

TEST_F(ClientTicketTest, AStaleViewWaitsOrBacksOff) {
  Start();
  Reply(TicketOutcome::StaleView, 1, 0, 5);
  EXPECT_EQ(client_.next_tick(), deadline_);
  client_.OnView(now_, ViewNumber(5));
  ASSERT_EQ(output_.tickets.size(), 2U);
  EXPECT_EQ(output_.tickets[1].second.view(), 5U);
  Reply(TicketOutcome::StaleView, 1, 0, 4);
  EXPECT_EQ(client_.next_tick(), now_ + absl::Milliseconds(5));
  Advance(absl::Milliseconds(5));
  EXPECT_EQ(output_.tickets.size(), 3U);
  Reply(TicketOutcome::StaleView, 1, 0, 4);
  EXPECT_EQ(client_.next_tick(), now_ + absl::Milliseconds(10)) << "twice as long";
  client_.OnView(now_, ViewNumber(6));
  Advance(absl::Milliseconds(10));
  Reply(TicketOutcome::StaleView, 1, 0, 4);
  EXPECT_EQ(client_.next_tick(), now_ + absl::Milliseconds(5)) << "a new view, a new start";
}

TEST_F(ClientTicketTest, EveryEndIsReported) {
  Start();
  Reply(TicketOutcome::Fenced);
  EXPECT_EQ(client_.ticket_result()->status().code(), absl::StatusCode::kFailedPrecondition);
  Start();
  Reply(TicketOutcome::Invalid, 2);
  EXPECT_EQ(client_.ticket_result()->status().code(), absl::StatusCode::kInvalidArgument);
  Start();
  client_.OnPeerDown(now_, kB, absl::UnavailableError("gone"));
  EXPECT_EQ(client_.ticket_result(), std::nullopt) << "the ticket's shard is another";
  now_ = deadline_;
  client_.OnTick(now_);
  EXPECT_EQ(client_.ticket_result()->status().code(), absl::StatusCode::kDeadlineExceeded);
  Start();
  client_.OnPeerDown(now_, kA, absl::UnavailableError("gone"));
  EXPECT_EQ(client_.ticket_result()->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(client_.ticket_result()->status().message()), HasSubstr("ps 0"));
  Start();
  EXPECT_EQ(client_.ticket_result()->status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace weir
