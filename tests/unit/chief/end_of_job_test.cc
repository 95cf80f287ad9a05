#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/chief/simulated_cluster.h"

namespace weir::chief {
namespace {

using ::testing::HasSubstr;
using wire::ChiefBody;
using wire::JoinOutcome;

ChiefOptions Options() { return SimulatedCluster::DefaultOptions(); }

wire::ShardStatsT Completed(std::vector<std::uint64_t> by_worker) {
  wire::ShardStatsT stats;
  stats.blocks = 1;
  stats.completed = std::move(by_worker);
  return stats;
}

const wire::EndT* EndTo(const SimulatedCluster& cluster, MemberId id) {
  const auto* message = cluster.Newest(id, ChiefBody::End);
  return message == nullptr ? nullptr : message->body.AsEnd();
}

void AnswerAllStats(SimulatedCluster& cluster) {
  for (std::uint32_t ps : cluster.options.ps) cluster.AnswerStats(ps);
}

void EverybodyLeaves(SimulatedCluster& cluster) {
  const auto members = cluster.sessions;
  for (const auto& [id, session] : members) cluster.Goodbye(id);
}

// To the point where the last checkpoint of step 100 is committed.
void TrainToTheEnd(SimulatedCluster& cluster) {
  cluster.Reach(100);
  for (std::uint32_t worker : cluster.options.workers) cluster.Finish(worker);
  cluster.CompleteCheckpoint();
}

TEST(EndTest, AtMaxSteps) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Reach(100);
  cluster.Finish(0);
  EXPECT_EQ(cluster.NewestCheckpointId(0), 0u) << "worker 1 still trains";
  cluster.Finish(1);
  const auto* take = cluster.Newest(Ps(1), ChiefBody::TakeCheckpoint);
  ASSERT_NE(take, nullptr);
  EXPECT_EQ(take->body.AsTakeCheckpoint()->folder, "step-00000100");
  cluster.CompleteCheckpoint();
  const CheckpointRecord& record = cluster.output.commits[0];
  EXPECT_TRUE(record.is_final);
  EXPECT_EQ(record.step, Step(100));
  ASSERT_EQ(record.shards.size(), 2u);
  EXPECT_EQ(record.shards[1].file, "shard-1-of-2.safetensors");
  EXPECT_EQ(record.shards[1].parts[0].tensor, "w1");

  const auto* evaluate = cluster.Newest(Worker(0), ChiefBody::Evaluate);
  ASSERT_NE(evaluate, nullptr) << "no evaluator: the lowest worker evaluates";
  EXPECT_EQ(evaluate->body.AsEvaluate()->checkpoint, "step-00000100");
  EXPECT_EQ(cluster.Newest(Worker(1), ChiefBody::Evaluate), nullptr);
  cluster.Evaluated(Worker(0), 100, 0.9F);
  EXPECT_EQ(EndTo(cluster, Worker(0)), nullptr) << "first the statistics";
  AnswerAllStats(cluster);
  for (const auto& [id, session] : cluster.sessions) {
    ASSERT_NE(EndTo(cluster, id), nullptr);
    EXPECT_EQ(EndTo(cluster, id)->exit_code, 0);
  }
  EXPECT_FALSE(cluster.output.exit.has_value());
  EverybodyLeaves(cluster);
  EXPECT_EQ(cluster.output.exit, 0);
  EXPECT_EQ(cluster.output.finishes, 1);
  EXPECT_FLOAT_EQ(*cluster.chief->BuildSummary(cluster.now).test_accuracy, 0.9F);
}

TEST(EndTest, MaxStepsReachedBeforeTheStartTrainsNothing) {
  ChiefOptions options = Options();
  options.start_step = Step(100);
  options.resume_checkpoint = "step-00000100";
  SimulatedCluster cluster(options);
  cluster.EnterAll();
  cluster.Finish(0, 0);
  cluster.Finish(1, 0);
  EXPECT_TRUE(cluster.output.commits.empty());
  EXPECT_EQ(cluster.output.marked, std::vector<std::string>{"step-00000100"});
  cluster.chief->OnCheckpointMarkedFinal(absl::OkStatus(), cluster.now);
  cluster.Evaluated(Worker(0), 100, 0.9F);
  AnswerAllStats(cluster);
  EverybodyLeaves(cluster);
  EXPECT_EQ(cluster.output.exit, 0);
}

TEST(EndTest, ACheckpointOfTheLastStepIsOnlyMarked) {
  ChiefOptions options = Options();
  options.save_checkpoints_steps = 10;
  SimulatedCluster cluster(options);
  cluster.EnterAll();
  cluster.Reach(30);
  cluster.CompleteCheckpoint();
  // Both run out of data at step 30.
  cluster.Finish(0);
  cluster.Finish(1);
  cluster.AnswerStats(0, Completed({10, 20}));
  EXPECT_EQ(cluster.output.commits.size(), 1u);
  EXPECT_EQ(cluster.output.marked, std::vector<std::string>{"step-00000030"});
}

TEST(EndTest, TheEvaluatorIsAskedAboutACheckpointOfAnEarlierRun) {
  ChiefOptions options = Options();
  options.start_step = Step(100);
  options.resume_checkpoint = "step-00000100";
  options.resume_is_final = true;
  SimulatedCluster cluster(options);
  cluster.EnterAll();
  cluster.Enter(Evaluator());
  EXPECT_EQ(cluster.Newest(Evaluator(), ChiefBody::CheckpointSaved), nullptr);
  cluster.Finish(0, 0);
  cluster.Finish(1, 0);
  const auto* saved = cluster.Newest(Evaluator(), ChiefBody::CheckpointSaved);
  ASSERT_NE(saved, nullptr);
  EXPECT_EQ(saved->body.AsCheckpointSaved()->checkpoint, "step-00000100");
  cluster.Evaluated(Evaluator(), 100, 0.9F);
  EXPECT_EQ(cluster.chief->phase(), Phase::kCollecting);
}

TEST(EndTest, StepReachedMayStillBeOnItsWay) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Reach(99);
  cluster.Finish(0);
  cluster.Finish(1);
  EXPECT_EQ(cluster.NewestCheckpointId(0), 0u);
  EXPECT_EQ(cluster.CountOf(Ps(0), ChiefBody::SendStats), 1) << "asks the step counter";
  EXPECT_EQ(cluster.CountOf(Ps(1), ChiefBody::SendStats), 0);
  cluster.AnswerStats(0, Completed({60, 40}));
  cluster.CompleteCheckpoint();
  EXPECT_EQ(cluster.output.commits[0].step, Step(100));
  EXPECT_TRUE(cluster.output.commits[0].is_final);
}

TEST(EndTest, AnAnswerToAnEarlierQuestionDoesNotSettleTheStep) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Reach(98);
  cluster.Pass(absl::Seconds(2));
  ASSERT_EQ(cluster.CountOf(Ps(0), ChiefBody::SendStats), 1);
  cluster.Finish(0);
  cluster.Finish(1);
  cluster.AnswerStatsOnce(0, Completed({58, 40}));
  EXPECT_EQ(cluster.NewestCheckpointId(0), 0u);
  cluster.AnswerStatsOnce(0, Completed({59, 40}));
  cluster.CompleteCheckpoint();
  EXPECT_EQ(cluster.output.commits[0].step, Step(99));
}

TEST(EndTest, WorkersWithLessDataJustFinish) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Finish(0);
  cluster.Goodbye(Worker(0));
  cluster.Pass(absl::Seconds(30));
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining);
  cluster.Reach(50);
  cluster.Finish(1);
  cluster.AnswerStats(0, Completed({20, 30}));
  cluster.CompleteCheckpoint();
  EXPECT_TRUE(cluster.output.commits[0].is_final) << "nobody has data left: it is complete";
  EXPECT_NE(cluster.Newest(Worker(1), ChiefBody::Evaluate), nullptr);
}

TEST(EndTest, TheEvaluatorMakesTheLastEvaluation) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Enter(Evaluator(4));
  cluster.Enter(Evaluator(2));
  TrainToTheEnd(cluster);
  const auto* saved = cluster.Newest(Evaluator(4), ChiefBody::CheckpointSaved);
  ASSERT_NE(saved, nullptr);
  EXPECT_TRUE(saved->body.AsCheckpointSaved()->is_final);
  EXPECT_EQ(cluster.Newest(Evaluator(2), ChiefBody::CheckpointSaved), nullptr) << "stands by";
  EXPECT_EQ(cluster.Newest(Worker(0), ChiefBody::Evaluate), nullptr);
  cluster.Evaluated(Evaluator(4), 50, 0.4F);
  EXPECT_EQ(cluster.chief->phase(), Phase::kEvaluating) << "that was an older checkpoint";
  cluster.Evaluated(Evaluator(4), 100, 0.8F);
  EXPECT_EQ(cluster.chief->phase(), Phase::kCollecting);
}

TEST(EndTest, AnEvaluatorThatDiesIsReplaced) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Enter(Evaluator(4));
  cluster.Enter(Evaluator(2));
  TrainToTheEnd(cluster);
  cluster.Die(Evaluator(4));
  ASSERT_NE(cluster.Newest(Evaluator(2), ChiefBody::CheckpointSaved), nullptr);
  cluster.Freeze(Evaluator(2));
  cluster.Pass(absl::Seconds(5));
  ASSERT_NE(cluster.Newest(Worker(0), ChiefBody::Evaluate), nullptr);
  cluster.Die(Worker(0));
  ASSERT_NE(cluster.Newest(Worker(1), ChiefBody::Evaluate), nullptr);
  cluster.Evaluated(Worker(1), 100, 0.0F, "checkpoint not found");
  EXPECT_EQ(cluster.chief->phase(), Phase::kCollecting) << "nobody is left";
  EXPECT_FALSE(cluster.chief->BuildSummary(cluster.now).test_accuracy.has_value());
}

TEST(EndTest, AProgramOfItsOwnIsNotAskedToEvaluate) {
  ChiefOptions options = SimulatedCluster::DefaultOptions();
  options.layout_fingerprint = 8;
  SimulatedCluster cluster(options);
  wire::JoinRequestT program = cluster.Request(Worker(0));
  program.layout_fingerprint = 8;
  ASSERT_EQ(cluster.Join(program).outcome, wire::JoinOutcome::Accepted);
  cluster.Open(Worker(0));
  for (const MemberId id : {Ps(0), Ps(1), Worker(1)}) cluster.Enter(id);
  TrainToTheEnd(cluster);
  EXPECT_EQ(cluster.Newest(Worker(0), ChiefBody::Evaluate), nullptr);
  EXPECT_NE(cluster.Newest(Worker(1), ChiefBody::Evaluate), nullptr);
}

TEST(EndTest, NobodyIsAskedToEvaluateAJobWithoutTestData) {
  ChiefOptions options = SimulatedCluster::DefaultOptions();
  options.has_test_data = false;
  SimulatedCluster cluster(options);
  cluster.EnterAll();
  TrainToTheEnd(cluster);
  EXPECT_EQ(cluster.Newest(Worker(0), ChiefBody::Evaluate), nullptr);
  EXPECT_EQ(cluster.chief->phase(), Phase::kCollecting);
}

TEST(EndTest, AnEvaluationTakesAtMostTheLinger) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Enter(Evaluator());
  TrainToTheEnd(cluster);
  cluster.Pass(absl::Seconds(60) - kTick);
  EXPECT_EQ(cluster.chief->phase(), Phase::kEvaluating);
  cluster.Pass(kTick);
  EXPECT_EQ(cluster.chief->phase(), Phase::kCollecting);
}

TEST(EndTest, APsThatTellsNoStatisticsDoesNotHoldUpTheEnd) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  TrainToTheEnd(cluster);
  cluster.Evaluated(Worker(0), 100, 0.9F);
  cluster.AnswerStats(0);
  cluster.Pass(absl::Seconds(10) - kTick);
  EXPECT_EQ(EndTo(cluster, Ps(0)), nullptr);
  cluster.Pass(kTick);
  EXPECT_NE(EndTo(cluster, Ps(0)), nullptr);
  EXPECT_TRUE(cluster.Logged("last figures of ps 1"));
}

// Found by the simulation: its steps came after the last checkpoint had been begun without them.
TEST(EndTest, AnAcceptedWorkerIsWaitedForBeforeStepsAreLeftUndone) {
  SimulatedCluster cluster(Options());
  for (MemberId id : {Ps(0), Ps(1), Worker(0)}) cluster.Enter(id);
  EXPECT_EQ(cluster.Join(cluster.Request(Worker(1))).outcome, JoinOutcome::Accepted);
  cluster.Reach(40);
  cluster.Finish(0);  // out of data, at step 40 of 100
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining);
  cluster.Open(Worker(1));
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining);
  cluster.Reach(100);
  cluster.Finish(1);
  EXPECT_EQ(cluster.chief->phase(), Phase::kSaving);
}

TEST(EndTest, AnAcceptedWorkerThatDoesNotComeIsGivenUp) {
  SimulatedCluster cluster(Options());
  for (MemberId id : {Ps(0), Ps(1), Worker(0)}) cluster.Enter(id);
  EXPECT_EQ(cluster.Join(cluster.Request(Worker(1))).outcome, JoinOutcome::Accepted);
  cluster.Reach(40);
  cluster.Finish(0);
  cluster.Pass(absl::Seconds(5) - kTick);
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining);
  cluster.Pass(kTick);
  EXPECT_EQ(cluster.chief->phase(), Phase::kSettling);
}

TEST(EndTest, AChiefThatWasHeldUpStillHearsTheStep) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Reach(40);
  for (std::uint32_t worker : {0, 1}) cluster.Finish(worker);
  ASSERT_EQ(cluster.chief->phase(), Phase::kSettling) << "which step was the last?";
  cluster.now += absl::Seconds(12);  // longer than an answer may take: nobody runs
  cluster.chief->OnHeldUp(cluster.now);
  cluster.chief->OnTick(cluster.now);
  EXPECT_EQ(cluster.chief->phase(), Phase::kSettling);
  cluster.Reach(43);
  cluster.AnswerStats(0);
  cluster.CompleteCheckpoint();
  EXPECT_EQ(cluster.output.commits[0].step, Step(43));
  EXPECT_TRUE(cluster.output.commits[0].is_final);
}

TEST(EndTest, AnUnknownStepIsNotMarkedAsTheLast) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Reach(40);
  for (std::uint32_t worker : {0, 1}) cluster.Finish(worker);
  ASSERT_EQ(cluster.chief->phase(), Phase::kSettling);
  cluster.Pass(absl::Seconds(10));
  EXPECT_TRUE(cluster.Logged("did not tell its step"));
  cluster.CompleteCheckpoint();
  EXPECT_FALSE(cluster.output.commits[0].is_final);
  AnswerAllStats(cluster);
  ASSERT_NE(EndTo(cluster, Worker(0)), nullptr);
  EXPECT_THAT(EndTo(cluster, Worker(0))->reason,
              HasSubstr("stopped at step 40: ps 0 did not tell which step was the last"));
}

TEST(LingerTest, ListedTasksThatNeverCameAreWaitedFor) {
  ChiefOptions options = Options();
  options.evaluators = {0};
  SimulatedCluster cluster(options);
  cluster.EnterAll();
  TrainToTheEnd(cluster);
  cluster.Evaluated(Worker(0), 100, 0.9F);
  AnswerAllStats(cluster);
  EverybodyLeaves(cluster);
  EXPECT_FALSE(cluster.output.exit.has_value());
  cluster.Pass(absl::Seconds(60) - kTick);
  EXPECT_FALSE(cluster.output.exit.has_value());
  cluster.Pass(kTick);
  EXPECT_EQ(cluster.output.exit, 0);
  EXPECT_EQ(cluster.Join(cluster.Request(Worker(0), 99)).outcome, JoinOutcome::Ended)
      << "a chief that is done still answers";
}

TEST(LingerTest, WhoWatchesIsToldOfTheEnd) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  TrainToTheEnd(cluster);
  cluster.Evaluated(Worker(0), 100, 0.9F);
  EXPECT_EQ(cluster.chief->OnStatusAsked(cluster.now).phase, "collecting");
  AnswerAllStats(cluster);
  EverybodyLeaves(cluster);
  EXPECT_FALSE(cluster.output.exit.has_value());
  cluster.Pass(absl::Milliseconds(200));
  EXPECT_FALSE(cluster.output.exit.has_value());
  EXPECT_EQ(cluster.chief->OnStatusAsked(cluster.now).phase, "ending");
  EXPECT_EQ(cluster.output.exit, 0);
}

TEST(LingerTest, WhoAskedOnceCostsASecondAtMost) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  TrainToTheEnd(cluster);
  cluster.Evaluated(Worker(0), 100, 0.9F);
  (void)cluster.chief->OnStatusAsked(cluster.now);
  AnswerAllStats(cluster);
  EverybodyLeaves(cluster);
  cluster.Pass(absl::Seconds(1) - kTick);
  EXPECT_FALSE(cluster.output.exit.has_value());
  cluster.Pass(kTick);
  EXPECT_EQ(cluster.output.exit, 0);
}

TEST(LingerTest, WhoAskedLongAgoIsNotWaitedFor) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  (void)cluster.chief->OnStatusAsked(cluster.now);
  cluster.Pass(absl::Seconds(1));
  TrainToTheEnd(cluster);
  cluster.Evaluated(Worker(0), 100, 0.9F);
  AnswerAllStats(cluster);
  EverybodyLeaves(cluster);
  EXPECT_EQ(cluster.output.exit, 0);
}

TEST(LingerTest, WhoCameTooLateAndWasToldSoIsNotWaitedFor) {
  ChiefOptions options = Options();
  options.workers = {0, 1, 2};
  options.evaluators = {0};
  SimulatedCluster cluster(options);
  for (MemberId id : {Ps(0), Ps(1), Worker(0), Worker(1)}) cluster.Enter(id);
  cluster.Reach(100);
  cluster.Finish(0);
  cluster.Finish(1);
  cluster.CompleteCheckpoint();
  EXPECT_EQ(cluster.Join(cluster.Request(Worker(2))).outcome, JoinOutcome::Ended)
      << "while the last evaluation is made";
  cluster.Evaluated(Worker(0), 100, 0.9F);
  AnswerAllStats(cluster);
  EverybodyLeaves(cluster);
  EXPECT_FALSE(cluster.output.exit.has_value()) << "the evaluator may come";
  EXPECT_EQ(cluster.Join(cluster.Request(Evaluator())).outcome, JoinOutcome::Ended);
  EXPECT_EQ(cluster.output.exit, 0);
}

TEST(LingerTest, WhoIsDeclaredDeadIsNotWaitedFor) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  TrainToTheEnd(cluster);
  cluster.Evaluated(Worker(0), 100, 0.9F);
  AnswerAllStats(cluster);
  cluster.Freeze(Ps(1));
  for (MemberId id : {Ps(0), Worker(0), Worker(1)}) cluster.Goodbye(id);
  cluster.Pass(absl::Seconds(5) - kTick);
  EXPECT_FALSE(cluster.output.exit.has_value());
  cluster.Pass(kTick);
  EXPECT_EQ(cluster.output.exit, 0);
}

// Found by the simulation: the answer to its join was lost, and it asks again only after the call's
// deadline, which may be longer than a lease.
TEST(LingerTest, WhoNeverHeardThatItWasAcceptedIsWaitedFor) {
  ChiefOptions options = Options();
  options.evaluators = {0};
  SimulatedCluster cluster(options);
  cluster.EnterAll();
  EXPECT_EQ(cluster.Join(cluster.Request(Evaluator())).outcome, JoinOutcome::Accepted);
  TrainToTheEnd(cluster);
  cluster.Evaluated(Worker(0), 100, 0.9F);
  AnswerAllStats(cluster);
  cluster.Pass(absl::Seconds(6));
  EverybodyLeaves(cluster);
  EXPECT_FALSE(cluster.output.exit.has_value()) << "it may ask again";
  EXPECT_EQ(cluster.Join(cluster.Request(Evaluator())).outcome, JoinOutcome::Ended);
  EXPECT_EQ(cluster.output.exit, 0);
}

TEST(LingerTest, AJoinOfAnotherJobIsRefusedEvenThen) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  TrainToTheEnd(cluster);
  wire::JoinRequestT request = cluster.Request(Worker(1), 99);
  request.job = "other";
  EXPECT_EQ(cluster.Join(request).outcome, JoinOutcome::Refused);
}

TEST(LossTest, OfAPsEndsTheJobForAll) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Enter(Evaluator());
  cluster.Die(Ps(1));
  for (MemberId id : {Ps(0), Worker(0), Worker(1), Evaluator()}) {
    ASSERT_NE(EndTo(cluster, id), nullptr) << id.ToString();
    EXPECT_EQ(EndTo(cluster, id)->exit_code, 4);
    EXPECT_EQ(EndTo(cluster, id)->reason, "ps 1 (host:2121) was lost: its process ended");
  }
  for (MemberId id : {Ps(0), Worker(0), Worker(1)}) cluster.Goodbye(id, 4);
  EXPECT_FALSE(cluster.output.exit.has_value());
  cluster.Goodbye(Evaluator(), 4);
  EXPECT_EQ(cluster.output.exit, 4);
  EXPECT_EQ(cluster.output.end_reason, "ps 1 (host:2121) was lost: its process ended");
  const wire::JoinReplyT late = cluster.Join(cluster.Request(Ps(1), 99));
  EXPECT_EQ(late.outcome, JoinOutcome::Ended);
  EXPECT_EQ(late.exit_code, 4) << "as all others";
}

TEST(LossTest, OfAPsWhoseFirstWordIsNonsense) {
  SimulatedCluster cluster;
  cluster.Enter(Ps(0));
  cluster.Enter(Worker(0));
  ASSERT_EQ(cluster.Join(cluster.Request(Ps(1))).outcome, JoinOutcome::Accepted);
  wire::MemberMessageT first;
  first.role = wire::Role::Ps;
  first.index = 1;
  first.incarnation = 1001;
  first.rdma = wire::RdmaUse::Unused;
  wire::StepReachedT beyond;
  beyond.step = 101;
  first.body.Set(beyond);
  cluster.chief->OnSessionOpened(SessionId(77), first, cluster.now);
  ASSERT_NE(EndTo(cluster, Worker(0)), nullptr) << "trains for ever without ps 1";
  EXPECT_EQ(EndTo(cluster, Worker(0))->exit_code, 4);
}

TEST(LossTest, OfAFrozenPsIsSeenWithinTheLeaseAndNotWaitedFor) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Freeze(Ps(0));
  cluster.Pass(absl::Seconds(5));
  EXPECT_THAT(EndTo(cluster, Ps(1))->reason, HasSubstr("ps 0 (host:2120) was lost: it was silent"));
  EXPECT_FALSE(cluster.output.exit.has_value());
  cluster.Pass(absl::Seconds(1));  // nobody says goodbye
  EXPECT_EQ(cluster.output.exit, 4);
}

TEST(LossTest, OfAPsThatJustLeaves) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Goodbye(Ps(0), 1, "out of memory");
  ASSERT_NE(EndTo(cluster, Worker(0)), nullptr);
  EXPECT_THAT(EndTo(cluster, Worker(0))->reason, HasSubstr("exit code 1: out of memory"));
}

TEST(LossTest, OfAPsAfterTheLastCheckpointChangesNothing) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  TrainToTheEnd(cluster);
  cluster.Die(Ps(0));
  cluster.Evaluated(Worker(0), 100, 0.9F);
  cluster.AnswerStats(1);
  ASSERT_NE(EndTo(cluster, Worker(0)), nullptr);
  EXPECT_EQ(EndTo(cluster, Worker(0))->exit_code, 0);
}

TEST(LossTest, OfOneWorkerIsSurvivedAndItMayComeBack) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Die(Worker(0));
  cluster.Enter(Worker(0), 88);
  cluster.Reach(100);
  cluster.Finish(1);
  EXPECT_EQ(cluster.NewestCheckpointId(0), 0u);
  cluster.Finish(0);
  EXPECT_EQ(cluster.NewestCheckpointId(0), 1u);
}

TEST(LossTest, OfAllWorkers) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Die(Worker(0));
  cluster.Die(Worker(1));
  EXPECT_EQ(EndTo(cluster, Ps(0)), nullptr) << "the step may have been reached: it asks";
  cluster.AnswerStats(0, Completed({3, 4}));
  ASSERT_NE(EndTo(cluster, Ps(0)), nullptr);
  EXPECT_EQ(EndTo(cluster, Ps(0))->exit_code, 4);
  EXPECT_THAT(EndTo(cluster, Ps(0))->reason, HasSubstr("no worker is left: worker 1"));
}

TEST(LossTest, OfAllWorkersAtTheLastStepIsAnEnd) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Die(Worker(0));
  cluster.Die(Worker(1));
  cluster.AnswerStats(0, Completed({50, 50}));
  cluster.CompleteCheckpoint();
  EXPECT_TRUE(cluster.output.commits[0].is_final);
  cluster.AnswerStats(0, Completed({50, 50}));
  cluster.AnswerStats(1);
  EXPECT_EQ(EndTo(cluster, Ps(0))->exit_code, 0);
}

TEST(LossTest, OfTheOnlyOnesThatHadNotFinished) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Finish(0);
  cluster.Die(Worker(1));
  cluster.AnswerStats(0, Completed({3, 4}));
  EXPECT_EQ(EndTo(cluster, Worker(0))->exit_code, 4);
}

TEST(LossTest, AFailingWorkersGoodbyeCountsAsALoss) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Goodbye(Worker(0), 0, "SIGTERM");
  cluster.Goodbye(Worker(1), 3, "no data");
  cluster.AnswerStats(0, Completed({3, 4}));
  EXPECT_EQ(EndTo(cluster, Ps(0))->exit_code, 4);
  EXPECT_THAT(EndTo(cluster, Ps(0))->reason, HasSubstr("exit code 3: no data"));
}

TEST(LossTest, OfTheEvaluatorIsLogged) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Enter(Evaluator());
  cluster.Die(Evaluator());
  EXPECT_TRUE(cluster.Logged("evaluator 0 (host:2130) was lost"));
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining);
}

TEST(StopTest, SavesAndEndsWithoutTheFinalMark) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Reach(42);
  cluster.chief->OnStopRequested("SIGTERM", cluster.now);
  for (const auto& [id, session] : cluster.sessions) {
    EXPECT_NE(cluster.Newest(id, ChiefBody::StopTraining), nullptr);
  }
  cluster.Finish(0);
  cluster.Finish(1);
  cluster.AnswerStats(0, Completed({22, 21}));
  cluster.CompleteCheckpoint();
  EXPECT_EQ(cluster.output.commits[0].folder, "step-00000043");
  EXPECT_FALSE(cluster.output.commits[0].is_final);
  EXPECT_EQ(cluster.Newest(Worker(0), ChiefBody::Evaluate), nullptr);
  AnswerAllStats(cluster);
  ASSERT_NE(EndTo(cluster, Worker(0)), nullptr);
  EXPECT_EQ(EndTo(cluster, Worker(0))->exit_code, 0);
  EverybodyLeaves(cluster);
  EXPECT_EQ(cluster.output.exit, 0);
}

TEST(StopTest, DoesNotWaitForTasksThatNeverCame) {
  SimulatedCluster cluster;
  cluster.Enter(Ps(0));
  cluster.chief->OnStopRequested("SIGINT", cluster.now);
  EXPECT_EQ(EndTo(cluster, Ps(0))->exit_code, 0);
  cluster.Goodbye(Ps(0));
  EXPECT_EQ(cluster.output.exit, 0);
}

TEST(StopTest, AtTheLastStepIsComplete) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Reach(100);
  cluster.chief->OnStopRequested("SIGTERM", cluster.now);
  cluster.Finish(0);
  cluster.Finish(1);
  cluster.CompleteCheckpoint();
  EXPECT_TRUE(cluster.output.commits[0].is_final);
}

TEST(StopTest, AWorkerThatIsLateIsNamedAfterTheGrace) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.chief->OnStopRequested("SIGTERM", cluster.now);
  cluster.Finish(0);
  cluster.Pass(absl::Seconds(30) - kTick);
  EXPECT_EQ(EndTo(cluster, Ps(0)), nullptr);
  cluster.Pass(kTick);
  ASSERT_NE(EndTo(cluster, Ps(0)), nullptr);
  EXPECT_EQ(EndTo(cluster, Ps(0))->exit_code, 1);
  EXPECT_THAT(EndTo(cluster, Ps(0))->reason, HasSubstr("late was worker 1 (host:2111)"));
}

TEST(StopTest, AShardThatIsLateIsNamedAfterTheGrace) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.chief->OnStopRequested("SIGTERM", cluster.now);
  cluster.Finish(0);
  cluster.Finish(1);
  cluster.AnswerStats(0, Completed({1, 1}));
  cluster.AnswerCheckpoint(0);
  cluster.Pass(absl::Seconds(30));
  EXPECT_EQ(EndTo(cluster, Ps(0))->exit_code, 1);
  EXPECT_THAT(EndTo(cluster, Ps(0))->reason, HasSubstr("ps 1's part of step-00000002"));
}

TEST(StopTest, OnAPsWish) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  wire::StopRequestedT stop;
  stop.reason = "SIGTERM";
  cluster.Say(Worker(0), stop);
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining) << "a worker just leaves";
  cluster.Say(Ps(1), stop);
  EXPECT_EQ(cluster.chief->phase(), Phase::kStopping);
}

TEST(StopTest, TheLastWorkerLeavingStopsTheJob) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Reach(10);
  cluster.Goodbye(Worker(0), 0, "SIGTERM");
  EXPECT_EQ(cluster.NewestView(Ps(0)).members.size(), 4u);
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining);
  cluster.Goodbye(Worker(1), 0, "SIGTERM");
  cluster.AnswerStats(0, Completed({5, 5}));
  cluster.CompleteCheckpoint();
  EXPECT_FALSE(cluster.output.commits[0].is_final);
  AnswerAllStats(cluster);
  EXPECT_EQ(EndTo(cluster, Ps(0))->exit_code, 0);
}

TEST(StopTest, WhileLingeringEndsTheWait) {
  ChiefOptions options = Options();
  options.evaluators = {0};
  SimulatedCluster cluster(options);
  cluster.EnterAll();
  TrainToTheEnd(cluster);
  cluster.Evaluated(Worker(0), 100, 0.9F);
  AnswerAllStats(cluster);
  EverybodyLeaves(cluster);
  EXPECT_FALSE(cluster.output.exit.has_value());
  cluster.chief->OnStopRequested("SIGTERM", cluster.now);
  EXPECT_EQ(cluster.output.exit, 0);
}

TEST(StopTest, WorkersThatJoinWhileItStopsAreTold) {
  SimulatedCluster cluster;
  cluster.Enter(Ps(0));
  cluster.Enter(Ps(1));
  cluster.Enter(Worker(0));
  cluster.chief->OnStopRequested("SIGTERM", cluster.now);
  EXPECT_EQ(cluster.Join(cluster.Request(Worker(1))).outcome, JoinOutcome::Ended);
}

}  // namespace
}  // namespace weir::chief
