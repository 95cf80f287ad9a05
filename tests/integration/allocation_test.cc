// What one step of a worker allocates, in its own thread and in the parameter server's.
#include <cstdio>
#include <cstdlib>

#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"
#include "tests/support/thread_allocations.h"

namespace weir::testing {
namespace {

constexpr int kWarmSteps = 20;
constexpr int kCountedSteps = 100;

// The Fashion-MNIST job's shapes.
Layout TestLayout() {
  return *Layout::Create({Tensor("conv/kernel", {3, 3, 1, 32}), Tensor("conv/bias", {32}),
                          Tensor("dense/kernel", {5408, 64}), Tensor("dense/bias", {64}),
                          Tensor("out/kernel", {64, 10}), Tensor("out/bias", {10})},
                         2);
}

struct Steps {
  DataClient& client;
  ParameterBuffer& weights;
  const ParameterBuffer& gradients;
  std::optional<Step> completed;

  void TakeOverlapped(int count) {
    for (int i = 0; i < count; ++i) {
      const auto step = client.BeginStep(completed, weights, gradients);
      bool well = step.ok() && step->has_value();
      for (std::size_t t = 0; well && t < weights.tensors(); ++t) well = client.AwaitTensor(t).ok();
      for (std::size_t t = weights.tensors(); well && t-- > 0;) well = client.PushTensor(t).ok();
      if (!well || !client.FinishStep().ok()) std::abort();
      completed = *step;
    }
  }

  void Take(int count) {
    for (int i = 0; i < count; ++i) {
      const auto step = client.NextStep(completed, weights);
      if (!step.ok() || !step->has_value() || !client.Pull(weights).ok() ||
          !client.Push(gradients, **step).ok()) {
        std::abort();
      }
      completed = *step;
    }
  }
};

class AllocationTest : public ::testing::TestWithParam<Fabric> {
 protected:
  AllocationTest()
      : plane_(TestLayout(), {.fabric = GetParam(), .notify_steps = 1000000, .on_stats = [this] {
                                // On the server's owner thread.
                                server_allocations_.set_value(AllocationsOfThisThread());
                              }}) {
    plane_.Join(WorkerIndex(0));
  }

  /// What the owner thread of shard 0 has allocated so far, this question's own share included.
  long ServerAllocations() {
    server_allocations_ = {};
    auto future = server_allocations_.get_future();
    plane_.server(0).SendStats();
    return Await(future);
  }

  std::promise<long> server_allocations_;
  DataPlane plane_;
};

TEST_P(AllocationTest, TheCounterCounts) {
  const long before = AllocationsOfThisThread();
  ::operator delete(::operator new(1));  // a call of it, unlike an expression, is never left out
  EXPECT_GT(AllocationsOfThisThread(), before);
}

TEST_P(AllocationTest, NoneInAStepOnceWarm) {
  Within(absl::Seconds(60), [this] {
    const auto client = plane_.Connect(WorkerIndex(0));
    auto weights = client->AllocateParameters();
    const auto gradients = client->AllocateParameters();
    ASSERT_TRUE(weights.ok() && gradients.ok());
    Steps steps{*client, *weights, *gradients, {}};
    steps.Take(kWarmSteps);
    steps.TakeOverlapped(kWarmSteps);
    ServerAllocations();
    const long asked = ServerAllocations();
    const long server_before = ServerAllocations();
    const long before = AllocationsOfThisThread();
    steps.Take(kCountedSteps / 2);
    steps.TakeOverlapped(kCountedSteps / 2);
    const long in_worker = AllocationsOfThisThread() - before;
    const long in_server = ServerAllocations() - server_before - (server_before - asked);
    RecordProperty("worker", static_cast<int>(in_worker));
    RecordProperty("ps", static_cast<int>(in_server));
    std::printf("%d steps: %ld allocations in the worker's thread, %ld in the ps's\n",
                kCountedSteps, in_worker, in_server);
    EXPECT_EQ(in_worker, 0);
    // What the ps remembers of blocks under way grows by doubling up to the credits' sum, whenever
    // more of them than ever before are under way at once.
    EXPECT_LT(in_server, kCountedSteps / 10);
  });
}

INSTANTIATE_TEST_SUITE_P(On, AllocationTest,
                         ::testing::Values(Fabric::kUcxTcp, Fabric::kUcxShm, Fabric::kUcxTcpMapped,
                                           Fabric::kUcxShmMapped),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
