#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/client_fixture.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::Code;

class ClientPushTest : public ClientFixture {
 protected:
  void Start() { client_.StartPush(now_, Step(7), deadline_); }
  void Finish(std::uint64_t sequence = 1) {
    for (std::uint32_t block : {0U, 1U, 2U, 3U, 4U}) {
      Sent(block);
      Ack(block, Code::Ok, sequence);
    }
  }
};

TEST_F(ClientPushTest, SendsWithinTheCreditsOfEachShard) {
  Start();
  EXPECT_THAT(PushedBlocks(), ElementsAre(0, 2, 1));
  const auto& [to, header] = output_.pushes[2];
  EXPECT_EQ(to, kB);
  EXPECT_EQ(header.session(), 501U);
  EXPECT_EQ(header.incarnation(), 9U);
  EXPECT_EQ(header.worker(), 3U);
  EXPECT_EQ(header.sequence(), 1U);
  EXPECT_EQ(header.step(), 7U);
  EXPECT_EQ(header.view(), 4U);
  EXPECT_EQ(header.clock(), 1U);
  EXPECT_EQ(header.blocks_here(), 2U);
  EXPECT_EQ(header.codec(), 0);
  Sent(0);
  Ack(0);
  EXPECT_THAT(PushedBlocks(), ElementsAre(0, 2, 1, 4));
}

TEST_F(ClientPushTest, IsDoneWhenAllAreAcknowledgedAndRead) {
  Start();
  Sent(0), Ack(0), Sent(2), Ack(2), Sent(1), Ack(1), Sent(3), Ack(3);
  Ack(4);
  EXPECT_EQ(client_.push_result(), std::nullopt) << "block 4 is still being read";
  EXPECT_EQ(client_.sends_outstanding(), 1);
  Sent(4);
  EXPECT_EQ(client_.push_result(), absl::OkStatus());
  EXPECT_EQ(client_.clock(), WorkerClock(1));
  EXPECT_EQ(client_.pushes_acknowledged(), 1U);
  Start();
  EXPECT_EQ(output_.pushes.back().second.sequence(), 2U);
  EXPECT_EQ(output_.pushes.back().second.clock(), 2U);
}

TEST_F(ClientPushTest, DropsWhatDoesNotFit) {
  Start();
  Sent(0), Sent(1), Sent(2);
  const auto ack = [&](ShardIndex shard, std::uint64_t session, std::uint64_t sequence,
                       std::uint32_t block, Code code = Code::Ok) {
    client_.OnPushAck(now_, shard, wire::PushAck(session, sequence, 1, 4, block, code, 0, 0, 0));
  };
  ack(kA, 999, 1, 0);
  ack(ShardIndex(9), 500, 1, 0);
  EXPECT_EQ(client_.messages_dropped(), 2U);
  EXPECT_EQ(output_.pushes.size(), 3U);
  Ack(0);
  Ack(0);
  EXPECT_EQ(client_.messages_dropped(), 3U);
  EXPECT_TRUE(output_.closed.empty());
}

TEST_F(ClientPushTest, ClosesAShardThatAnswersWhatNoShardDoes) {
  const auto ends_it = [&](std::uint64_t sequence, std::uint32_t block, Code code = Code::Ok) {
    ClientLogic client(layout_, {.worker = WorkerIndex(3), .incarnation = Incarnation(9)}, output_);
    client.OnConnected(kA, {.session = kSession[0]});
    client.OnConnected(kB, {.session = kSession[1]});
    client.StartPush(now_, Step(1), deadline_);
    output_.closed.clear();
    const wire::PushAck ack(500, sequence, 1, 4, block, code, 0, 0, 0);
    client.OnPushAck(now_, kA, ack);
    EXPECT_EQ(output_.closed, std::vector{kA});
    client.OnPushAck(now_, kA, ack);  // was on its way
    EXPECT_EQ(output_.closed.size(), 1U);
    EXPECT_EQ(client.push_result()->code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(ExitCodeOf(*client.push_result()), ExitCode::kPeerLost);
    return std::string(client.push_result()->message());
  };
  EXPECT_THAT(ends_it(2, 0), HasSubstr("closed the connection to ps 0"));
  EXPECT_THAT(ends_it(0, 0), HasSubstr("a push that never was"));
  EXPECT_THAT(ends_it(1, 1), HasSubstr("a block that it has not"));
  EXPECT_THAT(ends_it(1, 99), HasSubstr("a block that it has not"));
  EXPECT_THAT(ends_it(1, 0, static_cast<Code>(77)), HasSubstr("unknown code"));
}

TEST_F(ClientPushTest, RepeatsWhatIsUnansweredOnceItsBytesWereRead) {
  Start();
  Sent(0), Sent(1);
  EXPECT_EQ(client_.next_tick(), now_ + absl::Seconds(1));
  Advance(absl::Seconds(1) - absl::Nanoseconds(1));
  EXPECT_EQ(output_.pushes.size(), 3U);
  Advance(absl::Nanoseconds(1));
  EXPECT_EQ(output_.pushes.size(), 5U) << "0 and 1 again, not 2";
  EXPECT_EQ(output_.pushes.back().second.sequence(), 1U);
  Sent(2);
  EXPECT_THAT(PushedBlocks(), ElementsAre(0, 2, 1, 0, 1, 2));
}

TEST_F(ClientPushTest, BusyIsRetriedAfterTheBackoff) {
  Start();
  Sent(1);
  Ack(1, Code::Busy);
  EXPECT_THAT(PushedBlocks(), ElementsAre(0, 2, 1, 3)) << "the credit serves another block";
  EXPECT_EQ(client_.next_tick(), now_ + absl::Milliseconds(5));
  Advance(absl::Milliseconds(5));
  EXPECT_EQ(output_.pushes.size(), 4U) << "no credit";
  Sent(3), Ack(3);
  EXPECT_EQ(output_.pushes.back().second.block(), 1U);
}

TEST_F(ClientPushTest, AStaleViewWaitsForTheNextOne) {
  Start();
  Sent(0), Ack(0, Code::StaleView, 1, 5);
  Sent(2), Ack(2, Code::StaleView, 1, 5);
  Sent(4), Ack(4, Code::StaleView, 1, 5);
  const std::size_t before = output_.pushes.size();
  Advance(absl::Milliseconds(500));
  EXPECT_EQ(output_.pushes.size(), before);
  client_.OnView(now_, ViewNumber(4));  // not news
  EXPECT_EQ(output_.pushes.size(), before);
  client_.OnView(now_, ViewNumber(5));
  EXPECT_EQ(output_.pushes.size(), before + 2);
  EXPECT_EQ(output_.pushes.back().second.view(), 5U);
}

TEST_F(ClientPushTest, AShardThatIsBehindIsAskedAgainLater) {
  Start();
  Sent(1), Ack(1, Code::StaleView, 1, 3);
  Sent(3), Ack(3);
  const std::size_t before = output_.pushes.size();
  Advance(absl::Milliseconds(5));
  EXPECT_EQ(output_.pushes.size(), before + 1);
  EXPECT_EQ(output_.pushes.back().second.block(), 1U);
}

TEST_F(ClientPushTest, FencedAndInvalidEndIt) {
  Start();
  Ack(2, Code::Fenced);
  ASSERT_TRUE(client_.push_result().has_value());
  EXPECT_EQ(client_.push_result()->code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(client_.next_tick(), absl::InfiniteFuture());
  EXPECT_EQ(client_.sends_outstanding(), 3);
  Start();
  EXPECT_EQ(output_.pushes.size(), 3U) << "the old sends hold every credit";
  Sent(1);
  ASSERT_EQ(output_.pushes.size(), 4U);
  EXPECT_EQ(output_.pushes.back().second.block(), 3U);
  Ack(3, Code::Invalid, 2);
  EXPECT_EQ(client_.push_result()->code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ClientPushTest, TheDeadlineEndsItAndNamesWhatIsMissing) {
  Start();
  Sent(0), Ack(0);
  now_ = deadline_;
  client_.OnTick(now_);
  ASSERT_TRUE(client_.push_result().has_value());
  EXPECT_EQ(client_.push_result()->code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(client_.push_result()->message()),
              AllOf(HasSubstr("push at ps 0"), HasSubstr("blocks 2-4"), HasSubstr("2 unanswered"),
                    HasSubstr("1m")));
}

TEST_F(ClientPushTest, APeerThatIsDownEndsItWithExitCode4) {
  Start();
  client_.OnPeerDown(now_, kB, absl::UnavailableError("connection reset"));
  ASSERT_TRUE(client_.push_result().has_value());
  EXPECT_EQ(client_.push_result()->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ExitCodeOf(*client_.push_result()), ExitCode::kPeerLost);
  EXPECT_THAT(std::string(client_.push_result()->message()),
              AllOf(HasSubstr("ps 1"), HasSubstr("blocks 1-3"), HasSubstr("connection reset")));
  Start();
  EXPECT_EQ(client_.push_result()->code(), absl::StatusCode::kUnavailable) << "at once";
}

TEST_F(ClientPushTest, AbortEndsItWithTheReason) {
  Start();
  client_.Abort(now_, absl::AbortedError("the job ended"));
  EXPECT_EQ(client_.push_result(), absl::AbortedError("the job ended"));
}

TEST_F(ClientPushTest, TheBaseVersionIsOfTheLastPullBeforeThePush) {
  client_.StartPull(now_, deadline_);
  Block(0, Code::Ok, 1, 8);
  Start();
  EXPECT_EQ(output_.pushes[0].second.base_version(), 8U);
  Block(4, Code::Ok, 1, 9);
  Sent(0), Ack(0);
  EXPECT_EQ(output_.pushes.back().second.block(), 4U);
  EXPECT_EQ(output_.pushes.back().second.base_version(), 0U);
}

TEST_F(ClientPushTest, ErrorsNameTheTaskRatherThanTheShard) {
  ClientLogic client(
      layout_,
      {.worker = WorkerIndex(3), .incarnation = Incarnation(9), .shard_names = {"ps 2", "ps 7"}},
      output_);
  client.OnConnected(kA, {.session = kSession[0]});
  client.OnConnected(kB, {.session = kSession[1]});
  client.StartPush(now_, Step(1), deadline_);
  client.OnPeerDown(now_, kB, absl::UnavailableError("connection reset"));
  EXPECT_THAT(std::string(client.push_result()->message()), HasSubstr("push at ps 7"));
  client.StartTicket(now_, std::nullopt, wire::TicketAction::Next, deadline_);
  client.OnPeerDown(now_, kA, absl::UnavailableError("connection reset"));
  EXPECT_THAT(std::string(client.ticket_result()->status().message()), HasSubstr("at ps 2"));
}

TEST_F(ClientPushTest, AModelWithoutBlocksIsDoneAtOnce) {
  const Layout layout = MakeLayout({0}, 2);
  ClientLogic client(layout, {.worker = WorkerIndex(0), .incarnation = Incarnation(1)}, output_);
  client.StartPush(now_, Step(1), deadline_);
  EXPECT_EQ(client.push_result(), absl::OkStatus());
}

}  // namespace
}  // namespace weir
