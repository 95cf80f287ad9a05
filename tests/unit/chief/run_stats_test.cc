#include "chief/logic/run_stats.h"

#include <gtest/gtest.h>

#include "tests/unit/chief/simulated_cluster.h"

namespace weir::chief {
namespace {

wire::ShardStatsT Shard(std::uint32_t blocks, std::vector<std::uint64_t> applied) {
  wire::ShardStatsT stats;
  stats.blocks = blocks;
  stats.applied = std::move(applied);
  stats.first_ticket_us = -1;
  stats.last_ack_us = -1;
  return stats;
}

TEST(RunStatsTest, WithoutReportsThereIsNothing) {
  const RunStats stats(ShardId{0});
  EXPECT_EQ(stats.pushes().acknowledged, 0u);
  EXPECT_EQ(stats.staleness().max, 0u);
  EXPECT_EQ(stats.train_seconds(), 0.0);
}

TEST(RunStatsTest, AWholePushIsOneThatEveryShardWithBlocksApplied) {
  RunStats stats(ShardId{0});
  wire::ShardStatsT counter = Shard(3, {10, 21});
  counter.completed = {10, 20};
  stats.OnStats({0}, counter);
  stats.OnStats({1}, Shard(2, {10, 20}));
  stats.OnStats({2}, Shard(0, {}));  // empty: applies nothing, misses nothing
  EXPECT_EQ(stats.pushes().acknowledged, 30u);
  EXPECT_EQ(stats.pushes().applied, 30u);
  EXPECT_EQ(stats.pushes().lost, 0u);
}

TEST(RunStatsTest, LostIsWhatWasAcknowledgedButNotApplied) {
  RunStats stats(ShardId{0});
  wire::ShardStatsT counter = Shard(3, {10, 20});
  counter.completed = {10, 20};
  counter.duplicates = 2;
  stats.OnStats({0}, counter);
  wire::ShardStatsT other = Shard(1, {10});
  other.duplicates = 3;
  other.dropped = 4;
  stats.OnStats({1}, other);
  EXPECT_EQ(stats.pushes().applied, 10u);
  EXPECT_EQ(stats.pushes().dropped, 4u);
  EXPECT_EQ(stats.pushes().duplicates, 5u);
  EXPECT_EQ(stats.pushes().lost, 16u);
}

TEST(RunStatsTest, TheNewestReportOfAShardCountsWhole) {
  RunStats stats(ShardId{0});
  wire::ShardStatsT report = Shard(1, {5});
  report.completed = {5};
  report.bytes_pushed = 100;
  stats.OnStats({0}, report);
  report.applied = {7};
  report.completed = {7};
  report.bytes_pushed = 140;
  stats.OnStats({0}, report);
  EXPECT_EQ(stats.pushes().applied, 7u);
  EXPECT_EQ(stats.bytes().pushed, 140u);
}

TEST(RunStatsTest, ThreadsOfOnePsAreShardsOfTheirOwn) {
  RunStats stats(ShardId{3});
  wire::ShardStatsT counter = Shard(2, {10, 20});
  counter.completed = {10, 20};
  stats.OnStats({3}, counter);
  wire::ShardStatsT second = Shard(2, {9, 20});
  second.completed = {7, 7};  // nobody's business: it has no step counter
  stats.OnStats({3, 1}, second);
  EXPECT_EQ(stats.completed_steps(), 30U);
  EXPECT_EQ(stats.pushes().applied, 29U);
  EXPECT_EQ(stats.pushes().lost, 1U);
}

TEST(RunStatsTest, StalenessIsOfTheMergedHistograms) {
  RunStats stats(ShardId{0});
  wire::ShardStatsT first = Shard(1, {});
  first.staleness = {50, 40};
  wire::ShardStatsT second = Shard(1, {});
  second.staleness = {0, 0, 9, 0, 0, 1};
  stats.OnStats({0}, first);
  stats.OnStats({1}, second);
  EXPECT_EQ(stats.staleness().p50, 0u);
  EXPECT_EQ(stats.staleness().p99, 2u);
  EXPECT_EQ(stats.staleness().max, 5u);
}

// RDMA reads take nothing of a shard's processor, which so cannot count them.
TEST(RunStatsTest, BytesPulledAreWhatShardsServedAndWhatWorkersReadThemselves) {
  RunStats stats(ShardId{0});
  wire::ShardStatsT shard = Shard(1, {});
  shard.bytes_pulled = 5;
  stats.OnStats({0}, shard);
  wire::FinishedT finished;
  finished.one_sided_bytes = 1000;
  stats.OnFinished(0, finished);
  stats.OnFinished(1, finished);
  EXPECT_EQ(stats.bytes().pulled, 2005u);
}

TEST(SummaryTest, RatesAreOfThisRunsSteps) {
  ChiefOptions options = SimulatedCluster::DefaultOptions();
  options.start_step = Step(40);
  options.max_steps = Step(100);
  options.resume_checkpoint = "step-00000040";
  SimulatedCluster cluster(options);
  cluster.EnterAll();
  cluster.Pass(absl::Seconds(3));
  wire::ShardStatsT counter = Shard(1, {30, 30});
  counter.completed = {30, 30};
  counter.first_ticket_us = 1'000'000;
  counter.last_ack_us = 4'000'000;
  counter.bytes_pulled = 5;
  cluster.AnswerStats(0, counter);
  cluster.AnswerStats(1, Shard(1, {30, 30}));
  cluster.Goodbye(Worker(1), 0);
  const Summary summary = cluster.chief->BuildSummary(cluster.now);
  EXPECT_EQ(summary.global_step, 100u) << "the counter's figure is exact";
  EXPECT_DOUBLE_EQ(summary.wall_seconds, 3.0);
  EXPECT_DOUBLE_EQ(summary.train_seconds, 3.0);
  EXPECT_DOUBLE_EQ(summary.steps_per_second, 20.0);
  EXPECT_DOUBLE_EQ(summary.examples_per_second, 640.0);
  EXPECT_EQ(summary.pushes.acknowledged, 60u);
  EXPECT_EQ(summary.pushes.applied, 60u);
  EXPECT_EQ(summary.bytes.pulled, 5u);
  EXPECT_EQ(summary.checkpoint, "step-00000040");
  EXPECT_FALSE(summary.test_accuracy.has_value());
  ASSERT_EQ(summary.members.size(), 5u);
  EXPECT_EQ(summary.members[0].role, "chief");
  EXPECT_EQ(summary.members[0].pid, 70u);
  EXPECT_FALSE(summary.members[1].exit_code.has_value());
  EXPECT_EQ(summary.members[2].role, "worker");
  EXPECT_EQ(summary.members[2].exit_code, 0);
  EXPECT_EQ(summary.members[2].peak_rss_bytes, 4096u);
}

}  // namespace
}  // namespace weir::chief
