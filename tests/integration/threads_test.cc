// Parameter servers of several shards, each with a thread of its own.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"

namespace weir::testing {
namespace {

constexpr int kServers = 2;
constexpr int kThreads = 2;
constexpr int kClients = 2;

Layout ThreadsLayout() {
  return *Layout::Create({Tensor("big", {8 * kMaxBlockElements + 5}), Tensor("scalar", {}),
                          Tensor("small", {100}), Tensor("none", {0})},
                         kServers, kThreads);
}

class ThreadsTest : public ::testing::TestWithParam<Fabric> {
 protected:
  ThreadsTest() : plane_(ThreadsLayout(), {.fabric = GetParam(), .learning_rate = 1.0F}) {
    for (std::uint16_t w = 0; w < kClients; ++w) plane_.Join(WorkerIndex(w));
  }

  /// Takes `steps` steps, each of which adds one to every element.
  void Train(std::uint16_t worker, int steps) {
    const auto client = plane_.Connect(WorkerIndex(worker));
    auto weights = client->AllocateParameters();
    auto gradients = client->AllocateParameters();
    for (std::size_t t = 0; t < gradients->tensors(); ++t) {
      std::ranges::fill(gradients->tensor(t), -1.0F);
    }
    std::optional<Step> completed;
    for (int i = 0; i < steps; ++i) {
      const auto step = client->NextStep(completed, *weights);
      ASSERT_TRUE(step.ok() && step->has_value()) << step.status();
      completed = *step;
      for (const Block& block : plane_.layout().blocks()) {
        const std::span<const float> values = weights->block(block);
        ASSERT_EQ(std::ranges::count(values, values[0]), block.elements) << "torn";
        ASSERT_GE(values[0], static_cast<float>(i)) << "without its own pushes";
      }
      ASSERT_EQ(client->Push(*gradients, **step), absl::OkStatus());
    }
    ASSERT_EQ(client->Release(completed), absl::OkStatus());
  }

  void TrainAll(int steps) {
    std::vector<std::future<void>> workers;
    for (std::uint16_t w = 0; w < kClients; ++w) {
      workers.push_back(std::async(std::launch::async, [this, w, steps] { Train(w, steps); }));
    }
    for (auto& worker : workers) Await(worker, absl::Seconds(60));
  }

  DataPlane plane_;
};

TEST_P(ThreadsTest, EveryShardHasBlocksAndEveryUpdateCounts) {
  for (int s = 0; s < kServers * kThreads; ++s) {
    EXPECT_FALSE(plane_.layout().blocks_of(ShardIndex(static_cast<std::uint16_t>(s))).empty());
  }
  constexpr int kSteps = 15;
  TrainAll(kSteps);
  EXPECT_EQ(plane_.server(0).global_step(), Step(kSteps * kClients));
  Within(absl::Seconds(30), [&] {
    const auto client = plane_.Connect(WorkerIndex(0));
    EXPECT_EQ(client->paths().size(), static_cast<std::size_t>(kServers * kThreads));
    auto weights = client->AllocateParameters();
    ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
    for (const Block& block : plane_.layout().blocks()) {
      EXPECT_EQ(std::ranges::count(weights->block(block), kSteps * kClients), block.elements);
    }
  });
}

TEST_P(ThreadsTest, EachShardReportsForItself) {
  const std::string folder =
      std::filesystem::path(::testing::TempDir()) / absl::StrCat("weir-threads-", RandomId());
  TrainAll(3);
  plane_.server(1).SendStats();
  plane_.server(1).TakeCheckpoint(1, folder);
  std::set<std::uint32_t> stats;
  std::set<std::string> files;
  std::size_t entries = 0;
  EXPECT_TRUE(plane_.WaitForReport([&](const wire::MemberBodyUnion& body) {
    if (const auto* told = body.AsStats()) stats.insert(told->thread);
    const auto* done = body.AsCheckpointDone();
    if (done != nullptr && files.insert(done->file).second) {
      EXPECT_TRUE(done->ok) << done->error;
      EXPECT_EQ(done->file, absl::StrCat("shard-", kThreads + done->thread, "-of-4.safetensors"));
      entries += done->entries.size();
    }
    return files.size() == kThreads && stats.size() == kThreads;
  }));
  EXPECT_EQ(entries, plane_.layout().blocks_of(ShardIndex(2)).size() +
                         plane_.layout().blocks_of(ShardIndex(3)).size());
  std::filesystem::remove_all(folder);
}

TEST_P(ThreadsTest, AThreadThatThePsDoesNotHaveIsRefused) {
  wire::ConnectRequestT request = plane_.RequestOf(WorkerIndex(0));
  request.thread = kThreads;
  const wire::ConnectReplyT reply = plane_.server(0).Connect(request);
  EXPECT_FALSE(reply.accepted);
  EXPECT_FALSE(reply.retry);
  EXPECT_EQ(reply.reason, "this ps has 2 threads, none 2");
}

INSTANTIATE_TEST_SUITE_P(On, ThreadsTest, ::testing::ValuesIn(kFabrics),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
