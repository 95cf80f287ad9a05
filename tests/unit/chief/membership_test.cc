#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/chief/simulated_cluster.h"

namespace weir::chief {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using wire::ChiefBody;
using wire::JoinOutcome;

std::vector<MemberId> MembersOf(const wire::ViewT& view) {
  std::vector<MemberId> members;
  for (const auto& member : view.members) members.push_back({member->role, member->index});
  return members;
}

TEST(JoinTest, AcceptedIsToldWhatTheRunIs) {
  ChiefOptions options = SimulatedCluster::DefaultOptions();
  options.start_step = Step(40);
  options.resume_checkpoint = "step-00000040";
  SimulatedCluster cluster(options);
  const wire::JoinReplyT reply = cluster.Join(cluster.Request(Ps(0)));
  EXPECT_EQ(reply.outcome, JoinOutcome::Accepted);
  EXPECT_EQ(reply.lease_ms, 5000u);
  EXPECT_EQ(reply.model_dir_nonce, "nonce");
  EXPECT_EQ(reply.resume_checkpoint, "step-00000040");
  EXPECT_EQ(reply.start_step, 40u);
}

TEST(JoinTest, RefusalsSayWhatToChange) {
  SimulatedCluster cluster;
  const auto refused = [&cluster](MemberId id, auto change) {
    wire::JoinRequestT request = cluster.Request(id);
    change(request);
    const wire::JoinReplyT reply = cluster.Join(request);
    EXPECT_EQ(reply.outcome, JoinOutcome::Refused);
    return reply.reason;
  };
  EXPECT_THAT(refused(Ps(0), [](auto& r) { r.protocol = 2; }), HasSubstr("protocol 2"));
  EXPECT_THAT(refused(Ps(5), [](auto&) {}), HasSubstr("lists ps 0, 1"));
  EXPECT_THAT(refused(Worker(2), [](auto&) {}), HasSubstr("lists worker 0, 1"));
  EXPECT_THAT(refused({wire::Role::Chief, 0}, [](auto&) {}), HasSubstr("host:1000"));
  EXPECT_THAT(refused({static_cast<wire::Role>(9), 0}, [](auto&) {}), HasSubstr("role 9"));
  EXPECT_THAT(refused(Ps(0), [](auto& r) { r.incarnation = 0; }), HasSubstr("incarnation"));
  EXPECT_THAT(refused(Ps(0), [](auto& r) { r.address = ""; }), HasSubstr("address"));
  EXPECT_THAT(refused(Ps(0), [](auto& r) { r.address.assign(5000, 'a'); }), HasSubstr("long"));
  EXPECT_THAT(refused(Ps(0), [](auto& r) { r.job = "other"; }), HasSubstr("\"other\""));
  const std::string settings = refused(Worker(0), [](auto& r) {
    r.job_fingerprint = 6;
    r.job_settings = "batch 64";
  });
  EXPECT_THAT(settings, HasSubstr("batch 64"));
  EXPECT_THAT(settings, HasSubstr("batch 32"));
}

TEST(JoinTest, AProgramOfItsOwnSharesTheTensorsOnly) {
  ChiefOptions options = SimulatedCluster::DefaultOptions();
  options.layout_fingerprint = 8;
  options.layout = "w [4]";
  options.transport = "shm";
  SimulatedCluster cluster(options);
  wire::JoinRequestT request = cluster.Request(Worker(0));
  request.job_fingerprint = 0;
  request.job_settings = "w [3]";
  request.layout_fingerprint = 9;
  const wire::JoinReplyT other = cluster.Join(request);
  EXPECT_EQ(other.outcome, JoinOutcome::Refused);
  EXPECT_THAT(other.reason, AllOf(HasSubstr("w [3]"), HasSubstr("w [4]")));
  request.layout_fingerprint = 8;
  const wire::JoinReplyT reply = cluster.Join(request);
  EXPECT_EQ(reply.outcome, JoinOutcome::Accepted);
  EXPECT_EQ(reply.transport, "shm");
  wire::JoinRequestT ps = cluster.Request(Ps(0));
  ps.layout_fingerprint = 8;
  EXPECT_EQ(cluster.Join(ps).outcome, JoinOutcome::Refused);
}

TEST(JoinTest, UcxSeriesIsThatOfThePs) {
  SimulatedCluster cluster;
  cluster.Enter(Ps(0));
  wire::JoinRequestT request = cluster.Request(Worker(0));
  request.ucx_version = "1.22.0";
  const wire::JoinReplyT reply = cluster.Join(request);
  EXPECT_EQ(reply.outcome, JoinOutcome::Refused);
  EXPECT_THAT(reply.reason, HasSubstr("1.22.0"));
  EXPECT_THAT(reply.reason, HasSubstr("1.13.1"));
  request.ucx_version = "1.13.9";
  EXPECT_EQ(cluster.Join(request).outcome, JoinOutcome::Accepted);
}

TEST(JoinTest, WorkerOfAnotherSeriesThatCameBeforeThePsIsDismissed) {
  SimulatedCluster cluster;
  wire::JoinRequestT request = cluster.Request(Worker(0));
  request.ucx_version = "1.22.0";
  ASSERT_EQ(cluster.Join(request).outcome, JoinOutcome::Accepted);
  cluster.Open(Worker(0));
  cluster.Enter(Ps(0));
  const auto* end = cluster.Newest(Worker(0), ChiefBody::End);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->body.AsEnd()->exit_code, 2);
  EXPECT_THAT(end->body.AsEnd()->reason, HasSubstr("1.22.0"));
}

TEST(JoinTest, AnotherIncarnationWaitsForTheLease) {
  SimulatedCluster cluster;
  cluster.Enter(Worker(0), 11);
  EXPECT_EQ(cluster.Join(cluster.Request(Worker(0), 12)).outcome, JoinOutcome::NotYet);
  // The same incarnation asks again because it missed the reply.
  EXPECT_EQ(cluster.Join(cluster.Request(Worker(0), 11)).outcome, JoinOutcome::Accepted);
  cluster.Freeze(Worker(0));
  cluster.Pass(absl::Seconds(5) - kTick);
  EXPECT_EQ(cluster.Join(cluster.Request(Worker(0), 12)).outcome, JoinOutcome::NotYet);
  cluster.Pass(kTick);
  EXPECT_EQ(cluster.Join(cluster.Request(Worker(0), 12)).outcome, JoinOutcome::Accepted);
  EXPECT_EQ(cluster.Join(cluster.Request(Worker(0), 11)).outcome, JoinOutcome::NotYet);
}

TEST(JoinTest, WhoNeverOpensItsSessionHoldsTheTaskForOneLease) {
  SimulatedCluster cluster;
  cluster.Join(cluster.Request(Worker(0), 11));
  cluster.Pass(absl::Seconds(5) - kTick);
  EXPECT_EQ(cluster.Join(cluster.Request(Worker(0), 12)).outcome, JoinOutcome::NotYet);
  cluster.Pass(kTick);
  EXPECT_EQ(cluster.Join(cluster.Request(Worker(0), 12)).outcome, JoinOutcome::Accepted);
  // The first one is too late.
  const SessionId late = cluster.Open(Worker(0), 11);
  EXPECT_TRUE(cluster.output.closed.contains(late));
}

TEST(JoinTest, WhoNeverOpenedItsSessionMayAskAgain) {
  SimulatedCluster cluster;
  cluster.Join(cluster.Request(Ps(0), 11));
  for (int i = 0; i < 4; ++i) {  // as one that takes long to get ready
    cluster.Pass(absl::Seconds(2));
    EXPECT_EQ(cluster.Join(cluster.Request(Ps(0), 11)).outcome, JoinOutcome::Accepted);
    EXPECT_EQ(cluster.Join(cluster.Request(Ps(0), 12)).outcome, JoinOutcome::NotYet);
  }
  cluster.Pass(absl::Seconds(5));
  EXPECT_EQ(cluster.Join(cluster.Request(Ps(0), 11)).outcome, JoinOutcome::Accepted);
  cluster.Open(Ps(0), 11);
  cluster.Die(Ps(0));
  EXPECT_EQ(cluster.Join(cluster.Request(Ps(0), 11)).outcome, JoinOutcome::Refused)
      << "it has had its session";
}

TEST(JoinTest, AChiefThatWasStoppedItselfGivesEverybodyHalfALease) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.now += absl::Seconds(7);  // nobody runs: no ticks, no heartbeats
  cluster.chief->OnHeldUp(cluster.now);
  cluster.chief->OnTick(cluster.now);
  cluster.Freeze(Worker(1));
  cluster.Pass(absl::Milliseconds(2500) - kTick);
  EXPECT_EQ(cluster.NewestView(Ps(0)).members.size(), 5u);
  cluster.Pass(kTick);
  EXPECT_EQ(cluster.NewestView(Ps(0)).members.size(), 4u) << "worker 1 stayed silent";
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining);
}

TEST(JoinTest, EvaluatorsOfAnyIndexStandBy) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Enter(Evaluator(9));
  cluster.Enter(Evaluator(3));
  EXPECT_EQ(cluster.NewestView(Worker(0)).members.size(), 7u);
}

TEST(ViewTest, NumberGrowsWithEveryChangeAndGoesToAll) {
  SimulatedCluster cluster;
  cluster.Enter(Ps(0));
  EXPECT_EQ(cluster.NewestView(Ps(0)).number, 1u);
  cluster.Enter(Worker(1));
  EXPECT_EQ(cluster.NewestView(Ps(0)).number, 2u);
  EXPECT_EQ(MembersOf(cluster.NewestView(Worker(1))),
            (std::vector<MemberId>{{wire::Role::Chief, 0}, Worker(1), Ps(0)}));
  cluster.Enter(Ps(1));
  cluster.Enter(Worker(0));
  EXPECT_EQ(cluster.NewestView(Ps(0)).number, 4u);
  cluster.Pass(absl::Seconds(20));
  EXPECT_EQ(cluster.NewestView(Ps(0)).number, 4u) << "nothing changed";
  cluster.Die(Worker(1));
  const wire::ViewT view = cluster.NewestView(Ps(0));
  EXPECT_EQ(view.number, 5u);
  EXPECT_EQ(MembersOf(view),
            (std::vector<MemberId>{{wire::Role::Chief, 0}, Worker(0), Ps(0), Ps(1)}));
  cluster.Enter(Worker(1), 77);
  EXPECT_EQ(cluster.NewestView(Worker(1)).number, 6u);
}

TEST(ViewTest, ReadyInAnyOrder) {
  std::vector<MemberId> order = {Worker(0), Ps(0), Ps(1)};
  do {
    SimulatedCluster cluster;
    for (std::size_t i = 0; i < order.size(); ++i) {
      cluster.Enter(order[i]);
      EXPECT_EQ(cluster.NewestView(order[0]).ready, i + 1 == order.size());
    }
    EXPECT_EQ(cluster.chief->phase(), Phase::kTraining);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(ViewTest, APsThatDiesBeforeTrainingMayComeBack) {
  SimulatedCluster cluster;
  cluster.Enter(Ps(0));
  cluster.Enter(Ps(1));
  cluster.Die(Ps(0));
  cluster.Enter(Worker(0));
  EXPECT_EQ(cluster.chief->phase(), Phase::kWaiting);
  cluster.Enter(Ps(0), 500);
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining);
}

TEST(LeaseTest, IsAnsweredAndRenewedByEveryMessage) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  const int before = cluster.CountOf(Ps(0), ChiefBody::Lease);
  cluster.Pass(absl::Seconds(60));
  EXPECT_EQ(cluster.CountOf(Ps(0), ChiefBody::Lease), before + 60);
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining);
}

TEST(LeaseTest, FrozenWorkerIsLostExactlyAtItsEnd) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Freeze(Worker(1));
  cluster.Pass(absl::Seconds(5) - kTick);
  EXPECT_TRUE(cluster.output.closed.empty());
  cluster.Pass(kTick);
  EXPECT_TRUE(cluster.output.closed.contains(cluster.sessions.at(Worker(1))));
  EXPECT_TRUE(cluster.Logged("worker 1 (host:2111) was lost: it was silent for 5.0 s"));
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining) << "the others go on";
}

TEST(LeaseTest, LateEventsOfALostSessionAreIgnored) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  const SessionId old = cluster.sessions.at(Worker(1));
  cluster.Die(Worker(1));
  cluster.Enter(Worker(1), 55);
  const std::uint32_t view = cluster.NewestView(Ps(0)).number;
  wire::MemberMessageT message;
  message.body.Set(wire::GoodbyeT());
  cluster.chief->OnMessage(old, message, cluster.now);
  cluster.chief->OnSessionClosed(old, "its process ended", cluster.now);
  EXPECT_EQ(cluster.NewestView(Ps(0)).number, view);
}

TEST(SessionTest, WithoutJoinOrTwiceIsClosed) {
  SimulatedCluster cluster;
  EXPECT_TRUE(cluster.output.closed.contains(cluster.Open(Ps(0))));
  const SessionId first = cluster.Enter(Ps(0));
  const SessionId second = cluster.Open(Ps(0));
  EXPECT_TRUE(cluster.output.closed.contains(second));
  EXPECT_FALSE(cluster.output.closed.contains(first));
}

TEST(StartTest, MissingMembersAreNamedAndTheDeadlineEndsIt) {
  ChiefOptions options = SimulatedCluster::DefaultOptions();
  options.start_deadline = absl::Seconds(30);
  SimulatedCluster cluster(options);
  cluster.Enter(Ps(0));
  cluster.Pass(absl::Seconds(5));
  EXPECT_TRUE(cluster.Logged("waiting for ps 1, a worker (of 0, 1)"));
  cluster.Pass(absl::Seconds(25) - kTick);
  EXPECT_EQ(cluster.chief->phase(), Phase::kWaiting);
  cluster.Pass(kTick);
  const auto* end = cluster.Newest(Ps(0), ChiefBody::End);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->body.AsEnd()->exit_code, 4);
  EXPECT_THAT(end->body.AsEnd()->reason, HasSubstr("missing ps 1, a worker"));
  cluster.Goodbye(Ps(0), 4);
  EXPECT_EQ(cluster.output.exit, 4);
}

TEST(NonsenseTest, ClosesTheMemberNotTheChief) {
  const auto closes = [](MemberId id, auto message) {
    SimulatedCluster cluster;
    cluster.EnterAll();
    const SessionId session = cluster.sessions.at(id);
    cluster.Say(id, std::move(message));
    return cluster.output.closed.contains(session);
  };
  wire::StepReachedT beyond;
  beyond.step = 101;
  EXPECT_TRUE(closes(Ps(0), beyond));
  beyond.step = 100;
  EXPECT_FALSE(closes(Ps(0), beyond));
  EXPECT_TRUE(closes(Worker(0), beyond)) << "not a worker's to say";
  wire::TrainingLineT line;
  line.step = 101;
  EXPECT_TRUE(closes(Worker(0), line));
  wire::HeartbeatT heartbeat;
  heartbeat.view = 1000;
  EXPECT_TRUE(closes(Worker(0), heartbeat));
  wire::CheckpointDoneT done;
  done.id = 1;
  EXPECT_TRUE(closes(Ps(0), wire::CheckpointDoneT(done))) << "nobody asked";
  EXPECT_TRUE(closes(Ps(0), wire::StatsT())) << "no statistics in it";
  wire::StatsT big;
  big.stats = std::make_unique<wire::ShardStatsT>();
  big.stats->staleness.resize(100000);
  EXPECT_TRUE(closes(Ps(0), std::move(big)));
  wire::PathsT paths;
  paths.paths.push_back(std::make_unique<wire::PathUsedT>());
  EXPECT_TRUE(closes(Worker(0), std::move(paths)));
  wire::StatsT nobodys;
  nobodys.stats = std::make_unique<wire::ShardStatsT>();
  nobodys.thread = 1;
  EXPECT_TRUE(closes(Ps(0), std::move(nobodys))) << "a ps has one thread here";
  wire::EvaluationDoneT evaluation;
  evaluation.accuracy = 1.5F;
  EXPECT_TRUE(closes(Worker(0), evaluation));
  SimulatedCluster cluster;
  cluster.EnterAll();
  wire::MemberMessageT empty;
  cluster.chief->OnMessage(cluster.sessions.at(Worker(0)), empty, cluster.now);
  EXPECT_EQ(cluster.output.closed.size(), 1u);
}

}  // namespace
}  // namespace weir::chief
