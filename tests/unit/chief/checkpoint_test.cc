#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/chief/simulated_cluster.h"

namespace weir::chief {
namespace {

using ::testing::HasSubstr;
using wire::ChiefBody;

ChiefOptions BySteps(std::uint64_t steps) {
  ChiefOptions options = SimulatedCluster::DefaultOptions();
  options.save_checkpoints_steps = steps;
  return options;
}

TEST(CheckpointTest, BySteps) {
  SimulatedCluster cluster(BySteps(20));
  cluster.EnterAll();
  cluster.Enter(Evaluator());
  cluster.Reach(19);
  EXPECT_EQ(cluster.NewestCheckpointId(0), 0u);
  cluster.Reach(21);
  const auto* take = cluster.Newest(Ps(0), ChiefBody::TakeCheckpoint);
  ASSERT_NE(take, nullptr);
  EXPECT_EQ(take->body.AsTakeCheckpoint()->folder, "step-00000021");
  EXPECT_EQ(take->body.AsTakeCheckpoint()->step, 21u);
  cluster.AnswerCheckpoint(1);
  EXPECT_TRUE(cluster.output.commits.empty()) << "ps 0 still writes";
  cluster.Reach(60);
  EXPECT_EQ(cluster.NewestCheckpointId(0), 1u) << "one at a time";
  cluster.AnswerCheckpoint(0);
  ASSERT_EQ(cluster.output.commits.size(), 1u);
  EXPECT_FALSE(cluster.output.commits[0].is_final);
  EXPECT_EQ(cluster.Newest(Evaluator(), ChiefBody::CheckpointSaved), nullptr);
  cluster.Commit();
  const auto* saved = cluster.Newest(Evaluator(), ChiefBody::CheckpointSaved);
  ASSERT_NE(saved, nullptr);
  EXPECT_EQ(saved->body.AsCheckpointSaved()->checkpoint, "step-00000021");
  EXPECT_FALSE(saved->body.AsCheckpointSaved()->is_final);
  EXPECT_EQ(cluster.NewestCheckpointId(0), 2u) << "the one that had become due meanwhile";
  EXPECT_EQ(cluster.chief->BuildStatus(cluster.now).last_checkpoint, "step-00000021");
}

TEST(CheckpointTest, BySeconds) {
  ChiefOptions options = SimulatedCluster::DefaultOptions();
  options.save_checkpoints_secs = absl::Seconds(30);
  SimulatedCluster cluster(options);
  cluster.EnterAll();
  cluster.Reach(5);
  cluster.Pass(absl::Seconds(30) - kTick);
  EXPECT_EQ(cluster.NewestCheckpointId(0), 0u);
  cluster.Pass(kTick);
  EXPECT_EQ(cluster.NewestCheckpointId(0), 1u);
  cluster.CompleteCheckpoint();
  cluster.Pass(absl::Seconds(90));
  EXPECT_EQ(cluster.NewestCheckpointId(0), 1u) << "no new step: nothing to save";
  cluster.Reach(6);
  cluster.Pass(absl::Seconds(30));
  EXPECT_EQ(cluster.NewestCheckpointId(0), 2u);
}

TEST(CheckpointTest, AFailingShardIsNamedAndTheNextIsTriedLater) {
  SimulatedCluster cluster(BySteps(20));
  cluster.EnterAll();
  cluster.Reach(20);
  cluster.AnswerCheckpoint(1, false);
  ASSERT_EQ(cluster.output.errors.size(), 1u);
  EXPECT_THAT(cluster.output.errors[0],
              HasSubstr("ps 1 could not write its part of step-00000020: No space left"));
  cluster.AnswerCheckpoint(0);  // late, of the abandoned one
  EXPECT_TRUE(cluster.output.commits.empty());
  EXPECT_TRUE(cluster.output.closed.empty());
  cluster.Reach(39);
  EXPECT_EQ(cluster.NewestCheckpointId(0), 1u);
  cluster.Reach(40);
  cluster.CompleteCheckpoint();
  EXPECT_EQ(cluster.output.commits[0].folder, "step-00000040");
  EXPECT_EQ(cluster.output.commits[0].shards.size(), 2u);
}

TEST(CheckpointTest, AShardThatNeverAnswersIsNamed) {
  SimulatedCluster cluster(BySteps(20));
  cluster.EnterAll();
  cluster.Reach(20);
  cluster.AnswerCheckpoint(0);
  cluster.Pass(absl::Seconds(300));
  ASSERT_FALSE(cluster.output.errors.empty());
  EXPECT_THAT(cluster.output.errors[0], HasSubstr("ps 1's part of step-00000020"));
  cluster.Reach(40);
  EXPECT_EQ(cluster.NewestCheckpointId(0), 2u);
}

TEST(CheckpointTest, EveryThreadOfEveryPsHasItsPart) {
  ChiefOptions options = BySteps(20);
  options.ps_threads = 2;
  SimulatedCluster cluster(options);
  cluster.EnterAll();
  cluster.Reach(20);
  cluster.AnswerCheckpoint(0, true, 1);
  cluster.AnswerCheckpoint(1, true, 0);
  cluster.AnswerCheckpoint(1, true, 1);
  EXPECT_TRUE(cluster.output.commits.empty()) << "ps 0 thread 0 still writes";
  cluster.AnswerCheckpoint(0);
  ASSERT_EQ(cluster.output.commits.size(), 1U);
  const std::vector<StoredShard>& shards = cluster.output.commits[0].shards;
  ASSERT_EQ(shards.size(), 4U);
  EXPECT_EQ(shards[1].shard, (ShardId{0, 1}));
  EXPECT_EQ(shards[2].shard, (ShardId{1, 0}));
  cluster.Commit();
  cluster.Reach(40);
  cluster.AnswerCheckpoint(1, false, 1);
  ASSERT_EQ(cluster.output.errors.size(), 1U);
  EXPECT_THAT(cluster.output.errors[0],
              HasSubstr("ps 1 thread 1 could not write its part of step-00000040"));
}

TEST(CheckpointTest, AFailedCommitIsLogged) {
  SimulatedCluster cluster(BySteps(20));
  cluster.EnterAll();
  cluster.Reach(20);
  cluster.AnswerCheckpoint(0);
  cluster.AnswerCheckpoint(1);
  cluster.Commit(absl::InternalError("rename failed"));
  EXPECT_THAT(cluster.output.errors[0], HasSubstr("rename failed"));
  EXPECT_EQ(cluster.chief->BuildStatus(cluster.now).last_checkpoint, "");
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining);
}

TEST(CheckpointTest, LeasesGoOnDuringASlowCommit) {
  SimulatedCluster cluster(BySteps(20));
  cluster.EnterAll();
  cluster.Reach(20);
  cluster.AnswerCheckpoint(0);
  cluster.AnswerCheckpoint(1);
  cluster.Pass(absl::Minutes(10));
  EXPECT_EQ(cluster.chief->phase(), Phase::kTraining);
  cluster.Commit();
  EXPECT_EQ(cluster.chief->BuildStatus(cluster.now).last_checkpoint, "step-00000020");
}

TEST(CheckpointTest, TheLastOneThatFailsEndsTheJobWithAnError) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Reach(100);
  cluster.Finish(0);
  cluster.Finish(1);
  cluster.AnswerCheckpoint(0, false);
  const auto* end = cluster.Newest(Worker(0), ChiefBody::End);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->body.AsEnd()->exit_code, 1);
  EXPECT_THAT(end->body.AsEnd()->reason, HasSubstr("ps 0 could not write"));
}

TEST(CheckpointTest, APeriodicOneUnderWayIsWaitedForAtTheEnd) {
  SimulatedCluster cluster(BySteps(20));
  cluster.EnterAll();
  cluster.Reach(95);
  cluster.Reach(100);
  cluster.Finish(0);
  cluster.Finish(1);
  EXPECT_EQ(cluster.NewestCheckpointId(0), 1u);
  cluster.CompleteCheckpoint();
  EXPECT_EQ(cluster.NewestCheckpointId(0), 2u);
  cluster.CompleteCheckpoint();
  EXPECT_EQ(cluster.output.commits[1].folder, "step-00000100");
  EXPECT_TRUE(cluster.output.commits[1].is_final);
}

TEST(CheckpointTest, AnEvaluatorThatComesLaterIsToldOfTheNewest) {
  SimulatedCluster cluster(BySteps(20));
  cluster.EnterAll();
  cluster.Reach(20);
  cluster.CompleteCheckpoint();
  cluster.Enter(Evaluator());
  EXPECT_EQ(cluster.CountOf(Evaluator(), ChiefBody::CheckpointSaved), 1);
}

TEST(CheckpointTest, AFileNameThatLeavesTheFolderIsNonsense) {
  SimulatedCluster cluster(BySteps(20));
  cluster.EnterAll();
  cluster.Reach(20);
  wire::CheckpointDoneT done;
  done.id = 1;
  done.ok = true;
  done.file = "../../etc/passwd";
  const SessionId session = cluster.sessions.at(Ps(0));
  cluster.Say(Ps(0), std::move(done));
  EXPECT_TRUE(cluster.output.closed.contains(session));
}

}  // namespace
}  // namespace weir::chief
