#include "chief/logic/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/chief/simulated_cluster.h"

namespace weir::chief {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

TEST(ProgressTest, LogsTheMeanLossAboutEverySoManyGlobalSteps) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Pass(absl::Seconds(2));
  cluster.Train(0, 9, 2.0F);
  cluster.Reach(9);
  EXPECT_FALSE(cluster.Logged("step 9"));
  cluster.Train(1, 10, 1.0F);
  cluster.Reach(10);
  EXPECT_TRUE(cluster.Logged("step 10 loss 1.5000 (mean of 2 workers) steps/s 5.0 ETA --"));
  cluster.Reach(20);
  EXPECT_FALSE(cluster.Logged("step 20")) << "no worker reported since";
  cluster.Train(0, 20, 0.5F);
  EXPECT_TRUE(cluster.Logged("step 20 loss 0.7500"));
}

TEST(ProgressTest, TheLastStepIsLogged) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Train(0, 5, 2.0F);
  cluster.Reach(5);
  cluster.Finish(0);
  cluster.Finish(1);
  cluster.AnswerStats(0);
  EXPECT_TRUE(cluster.Logged("step 5 loss 0.2500"));
}

TEST(ProgressTest, MetricsAreOneJsonObjectALine) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Enter(Evaluator());
  cluster.Pass(absl::Milliseconds(1500));
  cluster.Train(1, 10, 0.5F);
  cluster.Train(1, 11, std::numeric_limits<float>::quiet_NaN());
  cluster.Evaluated(Evaluator(), 10, 0.75F);
  EXPECT_THAT(
      cluster.output.metrics,
      ElementsAre(R"({"step":10,"loss":0.5,"seconds":1.500,"worker":1})",
                  R"({"step":11,"loss":null,"seconds":1.500,"worker":1})",
                  R"({"step":10,"accuracy":0.75,"loss":0.5,"examples":1000,"seconds":1.500,)"
                  R"("kind":"eval"})"));
}

TEST(ProgressTest, StepsNeverGoBack) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Reach(10);
  cluster.Reach(9);
  cluster.Reach(50, 1);  // not the shard with the step counter
  EXPECT_EQ(cluster.chief->BuildStatus(cluster.now).global_step, 10u);
}

TEST(ProgressTest, PathsAreLoggedOnceEach) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  wire::PathsT paths;
  for (const char* path : {"mapped", "mapped", "message (x), not mapped: another host"}) {
    auto used = std::make_unique<wire::PathUsedT>();
    used->to_role = wire::Role::Ps;
    used->to_index = static_cast<std::uint32_t>(paths.paths.size());
    used->path = path;
    paths.paths.push_back(std::move(used));
  }
  cluster.Say(Worker(1), std::move(paths));
  EXPECT_THAT(cluster.output.logs, Contains("path of worker 1 to ps 0, ps 1: mapped"));
  EXPECT_THAT(cluster.output.logs,
              Contains("path of worker 1 to ps 2: message (x), not mapped: another host"));
}

TEST(ProgressTest, StatusTellsMembersAndRates) {
  SimulatedCluster cluster;
  cluster.EnterAll();
  cluster.Pass(absl::Seconds(2));
  cluster.Train(0, 8, 0.5F);
  cluster.Reach(8);
  wire::PathsT paths;
  paths.paths.push_back(std::make_unique<wire::PathUsedT>());
  paths.paths[0]->to_role = wire::Role::Ps;
  paths.paths[0]->to_index = 1;
  paths.paths[0]->path = "message";
  cluster.Say(Worker(0), std::move(paths));
  wire::ShardStatsT stats;
  stats.staleness = {0, 3, 1};
  cluster.AnswerStats(1, stats);
  cluster.Die(Worker(1));
  const wire::StatusReplyT status = cluster.chief->BuildStatus(cluster.now + absl::Seconds(1));
  EXPECT_EQ(status.phase, "training");
  EXPECT_EQ(status.max_steps, 100u);
  EXPECT_FLOAT_EQ(status.loss, 0.5F);
  EXPECT_FLOAT_EQ(status.steps_per_second, 8.0F / 3.0F);
  EXPECT_EQ(status.eta_seconds, -1.0F);
  EXPECT_EQ(status.staleness_p50, 1u);
  EXPECT_EQ(status.staleness_max, 2u);
  EXPECT_THAT(status.paths, ElementsAre("worker 0 -> ps 1: message"));
  ASSERT_EQ(status.members.size(), 5u);
  EXPECT_EQ(status.members[0]->member->role, wire::Role::Chief);
  EXPECT_EQ(status.members[1]->member->state, "joined");
  EXPECT_EQ(status.members[1]->path, "message");
  EXPECT_EQ(status.members[1]->last_step, 8u);
  EXPECT_EQ(status.members[1]->lease_left_ms, 4000);
  EXPECT_EQ(status.members[2]->member->state, "lost");
  cluster.Pass(absl::Seconds(1));
  EXPECT_FLOAT_EQ(cluster.chief->BuildStatus(cluster.now).eta_seconds, 92.0F / 8.0F)
      << "8 steps in that second, 92 to go";
}

}  // namespace
}  // namespace weir::chief
