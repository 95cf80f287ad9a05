#include "chief/logic/rdma_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/chief/simulated_cluster.h"

namespace weir::chief {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::JoinOutcome;
using wire::RdmaUse;

ChiefOptions Asked(const std::string& transport) {
  ChiefOptions options = SimulatedCluster::DefaultOptions();
  options.transport = transport;
  return options;
}

/// Two ps and two workers, each on a host of its own unless it is said otherwise.
struct RdmaJob : SimulatedCluster {
  using SimulatedCluster::SimulatedCluster;

  wire::JoinRequestT Able(MemberId id, std::uint64_t incarnation = 0) const {
    wire::JoinRequestT request = Request(id, incarnation);
    request.host_id = "boot@" + id.ToString();
    request.rdma = true;
    return request;
  }
  wire::JoinRequestT Unable(MemberId id, std::uint64_t incarnation = 0) const {
    wire::JoinRequestT request = Able(id, incarnation);
    request.rdma = false;
    request.no_rdma = "this host has no RDMA device";
    return request;
  }
  wire::JoinRequestT OnOneHost(MemberId id) const {
    wire::JoinRequestT request = Able(id);
    request.host_id = "boot@one";
    return request;
  }
  /// As a member does until it is told: asks every second, which keeps its place.
  void PassAsking(const std::vector<MemberId>& waiting, int seconds) {
    for (int i = 0; i < seconds; ++i) {
      for (const MemberId id : waiting) Join(Able(id));
      Pass(absl::Seconds(1));
    }
  }
  /// All that are able ask until they are told, and open their sessions.
  void EnterAble(const std::vector<MemberId>& members) {
    for (const MemberId id : members) Join(Able(id));
    for (const MemberId id : members) {
      ASSERT_EQ(Join(Able(id)).rdma, RdmaUse::Used) << id.ToString();
      Open(id);
      ASSERT_FALSE(output.closed.contains(sessions.at(id))) << id.ToString();
    }
  }
  RdmaUse use() const { return chief->BuildStatus(now).rdma; }
  std::string why_not() const { return chief->BuildStatus(now).no_rdma; }
  int TimesLogged(const std::string& part) const {
    return static_cast<int>(std::ranges::count_if(
        output.logs, [&](const std::string& line) { return line.find(part) != line.npos; }));
  }
};

TEST(RdmaChoiceTest, IsUsedWhereAllHaveItAndEverybodyHearsTheSame) {
  RdmaJob job;
  for (const MemberId id : {Ps(0), Ps(1), Worker(0)}) {
    const wire::JoinReplyT reply = job.Join(job.Able(id));
    EXPECT_EQ(reply.outcome, JoinOutcome::Accepted);
    EXPECT_EQ(reply.rdma, RdmaUse::Undecided);
    EXPECT_THAT(reply.reason, HasSubstr("waits for"));
    EXPECT_THAT(reply.reason, HasSubstr("worker 1"));
  }
  EXPECT_EQ(job.Join(job.Able(Worker(1))).rdma, RdmaUse::Used);
  for (const MemberId id : {Ps(0), Ps(1), Worker(0)}) {
    EXPECT_EQ(job.Join(job.Able(id)).rdma, RdmaUse::Used);
  }
  EXPECT_EQ(job.use(), RdmaUse::Used);
  EXPECT_EQ(job.why_not(), "");
  EXPECT_TRUE(job.chief->BuildSummary(job.now).rdma);
  EXPECT_EQ(job.TimesLogged("weights travel by RDMA: the 4 ps and workers"), 1);
}

TEST(RdmaChoiceTest, TheFirstWithoutItDecidesForAllAndIsNamed) {
  RdmaJob job;
  EXPECT_EQ(job.Join(job.Able(Ps(0))).rdma, RdmaUse::Undecided);
  EXPECT_EQ(job.Join(job.Unable(Worker(1))).rdma, RdmaUse::Unused);
  for (const MemberId id : {Ps(0), Ps(1), Worker(0)}) {
    EXPECT_EQ(job.Join(job.Able(id)).rdma, RdmaUse::Unused);
  }
  EXPECT_EQ(job.why_not(), "worker 1 (host worker 1): this host has no RDMA device");
  EXPECT_EQ(job.chief->BuildSummary(job.now).no_rdma, job.why_not());
  EXPECT_EQ(job.TimesLogged("weights do not travel by RDMA: worker 1"), 1);
}

TEST(RdmaChoiceTest, OneHostMapsItsMemoryInstead) {
  RdmaJob job;
  for (const MemberId id : {Ps(0), Ps(1), Worker(0)}) {
    EXPECT_EQ(job.Join(job.OnOneHost(id)).rdma, RdmaUse::Undecided);
  }
  EXPECT_EQ(job.Join(job.OnOneHost(Worker(1))).rdma, RdmaUse::Unused);
  EXPECT_EQ(job.why_not(), "");
  EXPECT_EQ(job.TimesLogged("RDMA"), 0);
}

TEST(RdmaChoiceTest, AHostThatComesAfterTheDecisionIsNews) {
  RdmaJob job;
  // The first has none: it decides, when nothing is known of another host yet.
  EXPECT_EQ(job.Join(job.Unable(Ps(0))).rdma, RdmaUse::Unused);
  EXPECT_EQ(job.why_not(), "");
  job.Open(Ps(0));
  job.Join(job.Able(Ps(1)));
  job.Open(Ps(1));
  EXPECT_EQ(job.why_not(), "ps 0 (host ps 0): this host has no RDMA device");
  job.Join(job.Able(Worker(0)));
  job.Open(Worker(0));
  EXPECT_EQ(job.TimesLogged("weights do not travel by RDMA"), 1);
}

TEST(RdmaChoiceTest, AListedWorkerThatDoesNotComeIsWaitedForNotForEver) {
  RdmaJob job;
  const std::vector<MemberId> in = {Ps(0), Ps(1), Worker(0)};
  for (const MemberId id : in) job.Join(job.Able(id));
  job.PassAsking(in, 9);
  EXPECT_EQ(job.use(), RdmaUse::Undecided);
  EXPECT_TRUE(job.Logged("waiting for worker 1"));
  job.PassAsking(in, 1);
  EXPECT_EQ(job.use(), RdmaUse::Used);
}

TEST(RdmaChoiceTest, APsIsWaitedForUntilTheStartDeadline) {
  RdmaJob job;
  const std::vector<MemberId> in = {Ps(0), Worker(0), Worker(1)};
  job.PassAsking(in, 299);
  EXPECT_EQ(job.use(), RdmaUse::Undecided);
  job.PassAsking(in, 2);
  ASSERT_THAT(job.output.errors, ::testing::SizeIs(1));
  EXPECT_THAT(job.output.errors[0], HasSubstr("missing ps 1"));
}

TEST(RdmaChoiceTest, PatienceBeginsAnewWithAPsThatComesBack) {
  RdmaJob job;
  for (const MemberId id : {Ps(0), Ps(1), Worker(0)}) job.Join(job.Able(id));
  // Ps 1 is silent: its lease runs out.
  job.PassAsking({Ps(0), Worker(0)}, 12);
  EXPECT_EQ(job.use(), RdmaUse::Undecided);
  job.PassAsking({Ps(0), Ps(1), Worker(0)}, 9);
  EXPECT_EQ(job.use(), RdmaUse::Undecided);
  job.PassAsking({Ps(0), Ps(1), Worker(0)}, 2);
  EXPECT_EQ(job.use(), RdmaUse::Used);
}

TEST(RdmaChoiceTest, OnceUsedALaterMemberWithoutItIsRefused) {
  RdmaJob job;
  const std::vector<MemberId> in = {Ps(0), Ps(1), Worker(0)};
  for (const MemberId id : in) job.Join(job.Able(id));
  job.PassAsking(in, 10);
  job.EnterAble(in);
  const wire::JoinReplyT refused = job.Join(job.Unable(Worker(1)));
  EXPECT_EQ(refused.outcome, JoinOutcome::Refused);
  EXPECT_THAT(refused.reason,
              AllOf(HasSubstr("this host has no RDMA device"), HasSubstr("--transport tcp")));
  // The job goes on, and takes one that has it.
  EXPECT_THAT(job.output.errors, IsEmpty());
  EXPECT_EQ(job.Join(job.Able(Worker(1))).outcome, JoinOutcome::Accepted);
}

TEST(RdmaChoiceTest, OnceUsedAReplacedWorkerMustHaveItToo) {
  RdmaJob job;
  job.EnterAble({Ps(0), Ps(1), Worker(0), Worker(1)});
  job.Die(Worker(1));
  EXPECT_EQ(job.Join(job.Unable(Worker(1), 77)).outcome, JoinOutcome::Refused);
  const wire::JoinReplyT able = job.Join(job.Able(Worker(1), 78));
  EXPECT_EQ(able.outcome, JoinOutcome::Accepted);
  EXPECT_EQ(able.rdma, RdmaUse::Used);
}

TEST(RdmaChoiceTest, APsThatComesBackWithoutItEndsAJobThatHasNotBegun) {
  RdmaJob job;
  for (const MemberId id : {Worker(0), Worker(1)}) job.Join(job.Able(id));
  job.EnterAble({Ps(0), Ps(1)});
  job.Die(Ps(1));
  EXPECT_EQ(job.Join(job.Unable(Ps(1), 77)).outcome, JoinOutcome::Refused);
  ASSERT_THAT(job.output.errors, ::testing::SizeIs(1));
  EXPECT_THAT(job.output.errors[0], HasSubstr("ps 1 has no RDMA, and the job was set up to use it "
                                              "(this host has no RDMA device)"));
  EXPECT_EQ(job.Newest(Ps(0), wire::ChiefBody::End)->body.AsEnd()->exit_code, 4);
}

TEST(RdmaChoiceTest, OnceUnusedItStaysSoWhoeverComes) {
  RdmaJob job;
  job.Join(job.Unable(Worker(1)));
  for (const MemberId id : {Ps(0), Ps(1), Worker(0)}) {
    EXPECT_EQ(job.Join(job.Able(id)).rdma, RdmaUse::Unused);
  }
  for (const MemberId id : {Ps(0), Ps(1), Worker(0), Worker(1)}) job.Open(id);
  EXPECT_THAT(job.output.closed, IsEmpty());
  job.Die(Worker(1));
  EXPECT_EQ(job.Join(job.Able(Worker(1), 77)).rdma, RdmaUse::Unused);
}

TEST(RdmaChoiceTest, AChiefThatIsStartedAgainDecidesAgain) {
  RdmaJob job;
  for (const MemberId id : {Ps(0), Ps(1), Worker(0), Worker(1)}) job.Join(job.Able(id));
  ASSERT_EQ(job.use(), RdmaUse::Used);
  // The members of the first ask to keep their places; it has to wait for all of them once more.
  RdmaJob again;
  EXPECT_EQ(again.Join(again.Able(Ps(0))).rdma, RdmaUse::Undecided);
  EXPECT_EQ(again.Join(again.Unable(Worker(1), 77)).rdma, RdmaUse::Unused);
  EXPECT_EQ(again.Join(again.Able(Ps(0))).rdma, RdmaUse::Unused);
}

TEST(RdmaChoiceTest, WhoGotReadyForAnotherDecisionIsTurnedAway) {
  RdmaJob job;
  const auto opens = [&job](MemberId id, RdmaUse told) {
    wire::MemberMessageT first;
    first.role = id.role;
    first.index = id.index;
    first.incarnation = 1000 + id.index;
    first.rdma = told;
    const SessionId session(900 + job.output.closed.size());
    job.chief->OnSessionOpened(session, first, job.now);
    return !job.output.closed.contains(session);
  };
  job.Join(job.Able(Ps(0)));
  // An earlier chief had decided; this one has not.
  EXPECT_FALSE(opens(Ps(0), RdmaUse::Used));
  EXPECT_FALSE(opens(Ps(0), RdmaUse::Unused));
  job.Join(job.Unable(Worker(0)));
  EXPECT_FALSE(opens(Ps(0), RdmaUse::Used));
  EXPECT_TRUE(job.Logged("ps 0 got ready for weights that travel by RDMA"));
  EXPECT_TRUE(opens(Ps(0), RdmaUse::Unused));
}

TEST(RdmaChoiceTest, WhatWasAskedForIsNotChosen) {
  for (const char* transport : {"rdma", "require-rdma"}) {
    RdmaJob job(Asked(transport));
    const wire::JoinReplyT refused = job.Join(job.Unable(Ps(0)));
    EXPECT_EQ(refused.outcome, JoinOutcome::Refused);
    EXPECT_THAT(refused.reason,
                AllOf(HasSubstr(std::string("--transport ") + transport + " asks for RDMA"),
                      HasSubstr("this host has no RDMA device")));
    // On one host too, and nobody is waited for.
    EXPECT_EQ(job.Join(job.OnOneHost(Ps(0))).rdma, RdmaUse::Used);
    EXPECT_THAT(job.output.errors, IsEmpty());
  }
  for (const char* transport : {"tcp", "shm"}) {
    RdmaJob job(Asked(transport));
    EXPECT_EQ(job.Join(job.Able(Ps(0))).rdma, RdmaUse::Unused);
    EXPECT_EQ(job.Join(job.Unable(Ps(1))).rdma, RdmaUse::Unused);
    EXPECT_EQ(job.why_not(), "");
  }
}

TEST(RdmaChoiceTest, LoopbackAddressesNeedNoWaiting) {
  ChiefOptions options = Asked("auto");
  options.one_host = true;
  RdmaJob job(options);
  EXPECT_EQ(job.Join(job.Able(Ps(0))).rdma, RdmaUse::Unused);
}

TEST(RdmaChoiceTest, AnEvaluatorNeitherDecidesNorIsWaitedFor) {
  ChiefOptions options = SimulatedCluster::DefaultOptions();
  options.evaluators = {0};
  RdmaJob job(options);
  EXPECT_EQ(job.Join(job.Unable(Evaluator())).outcome, JoinOutcome::Accepted);
  for (const MemberId id : {Ps(0), Ps(1), Worker(0), Worker(1)}) job.Join(job.Able(id));
  EXPECT_EQ(job.use(), RdmaUse::Used);
}

TEST(RdmaChoiceTest, WhatAMemberSaysOfItselfIsChecked) {
  RdmaJob job;
  wire::JoinRequestT both = job.Unable(Ps(0));
  both.rdma = true;
  EXPECT_EQ(job.Join(both).outcome, JoinOutcome::Refused);
  wire::JoinRequestT endless = job.Unable(Ps(0));
  endless.no_rdma.assign(2000, 'x');
  EXPECT_EQ(job.Join(endless).outcome, JoinOutcome::Refused);
  wire::JoinRequestT silent = job.Unable(Ps(0));
  silent.no_rdma.clear();
  EXPECT_EQ(job.Join(silent).rdma, RdmaUse::Unused);
  job.Join(job.Able(Ps(1)));
  job.Open(Ps(1));
  EXPECT_THAT(job.why_not(), HasSubstr("it does not say why"));
}

}  // namespace
}  // namespace weir::chief
