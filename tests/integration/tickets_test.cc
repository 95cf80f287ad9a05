// The global step over several workers: each number once, none beyond the end, none lost.
#include <algorithm>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;

Layout TicketsLayout() { return *Layout::Create({Tensor("a", {100}), Tensor("b", {50})}, 2); }

/// Takes, pushes and completes steps until there is none left; what it completed.
std::vector<std::uint64_t> TakeAll(DataClient& client) {
  auto weights = client.AllocateParameters();
  const auto gradients = client.AllocateParameters();
  std::vector<std::uint64_t> taken;
  std::optional<Step> completed;
  while (true) {
    const auto step = client.NextStep(completed, *weights);
    EXPECT_TRUE(step.ok()) << step.status();
    if (!step.ok() || !step->has_value()) return taken;
    const absl::Status pushed = client.Push(*gradients, **step);
    EXPECT_EQ(pushed, absl::OkStatus());
    if (!pushed.ok()) return taken;
    taken.push_back((*step)->value());
    completed = *step;
  }
}

/// One step, which the caller then holds.
std::optional<Step> TakeOne(DataClient& client) {
  auto weights = client.AllocateParameters();
  const auto step = client.NextStep(std::nullopt, *weights);
  EXPECT_TRUE(step.ok()) << step.status();
  return step.ok() ? *step : std::nullopt;
}

class TicketsTest : public ::testing::TestWithParam<Fabric> {
 protected:
  void Start(std::uint64_t first, std::uint64_t last) {
    plane_ =
        std::make_unique<DataPlane>(TicketsLayout(), DataPlaneOptions{.fabric = GetParam(),
                                                                      .start_step = Step(first - 1),
                                                                      .max_steps = Step(last)});
  }
  std::unique_ptr<DataPlane> plane_;
};

TEST_P(TicketsTest, ThreeWorkersTakeEachStepExactlyOnce) {
  constexpr std::uint64_t kFirst = 11, kLast = 210;
  Start(kFirst, kLast);
  for (std::uint16_t w = 0; w < 3; ++w) plane_->Join(WorkerIndex(w));
  std::vector<std::future<std::vector<std::uint64_t>>> workers;
  for (std::uint16_t w = 0; w < 3; ++w) {
    workers.push_back(std::async(std::launch::async, [this, w] {
      const auto client = plane_->Connect(WorkerIndex(w));
      std::vector<std::uint64_t> taken = TakeAll(*client);
      EXPECT_EQ(client->pushes_acknowledged(), taken.size());
      EXPECT_EQ(client->Release(std::nullopt), absl::OkStatus());
      return taken;
    }));
  }
  std::multiset<std::uint64_t> taken;
  for (auto& worker : workers) {
    const std::vector<std::uint64_t> its = Await(worker);
    taken.insert(its.begin(), its.end());
  }
  EXPECT_EQ(taken.size(), kLast - kFirst + 1);
  EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), taken.size()) << "one came twice";
  EXPECT_EQ(*taken.begin(), kFirst);
  EXPECT_EQ(*taken.rbegin(), kLast);
  EXPECT_EQ(plane_->server(0).global_step(), Step(kLast));
}

TEST_P(TicketsTest, AReleasedStepIsTakenByAnother) {
  Start(1, 3);
  plane_->Join(kA), plane_->Join(kB);
  Within(absl::Seconds(30), [this] {
    const auto a = plane_->Connect(kA);
    const auto b = plane_->Connect(kB);
    ASSERT_EQ(TakeOne(*a), Step(1));
    EXPECT_EQ(a->Release(std::nullopt), absl::OkStatus());
    EXPECT_THAT(TakeAll(*b), ElementsAre(1, 2, 3));
  });
}

TEST_P(TicketsTest, ReleaseCountsTheStepThatWasCompleted) {
  Start(1, 3);
  plane_->Join(kA), plane_->Join(kB);
  Within(absl::Seconds(30), [this] {
    const auto a = plane_->Connect(kA);
    const auto b = plane_->Connect(kB);
    ASSERT_EQ(TakeOne(*a), Step(1));
    EXPECT_EQ(a->Release(Step(1)), absl::OkStatus());
    EXPECT_THAT(TakeAll(*b), ElementsAre(2, 3));
  });
}

TEST_P(TicketsTest, TheStepOfAWorkerThatVanishedIsTakenByAnother) {
  Start(1, 4);
  plane_->Join(kA), plane_->Join(kB);
  auto b = std::async(std::launch::async, [this] {
    auto goes = plane_->Connect(kA);
    EXPECT_EQ(TakeOne(*goes), Step(1));
    goes.reset();
    const auto client = plane_->Connect(kB);
    return TakeAll(*client);
  });
  // The report of step 3 comes with b's request for another one, which has to wait.
  EXPECT_TRUE(plane_->WaitForStep(Step(3)));
  EXPECT_EQ(plane_->server(0).global_step(), Step(3));
  plane_->Leave(kA);
  EXPECT_THAT(Await(b), ElementsAre(2, 3, 4, 1));
}

TEST_P(TicketsTest, StopTrainingAnswersAWorkerThatWaits) {
  Start(1, 2);
  plane_->Join(kA), plane_->Join(kB);
  auto b = std::async(std::launch::async, [this] {
    const auto holder = plane_->Connect(kA);
    EXPECT_EQ(TakeOne(*holder), Step(1));
    const auto client = plane_->Connect(kB);
    return TakeAll(*client);
  });
  EXPECT_TRUE(plane_->WaitForStep(Step(1)));
  plane_->server(0).StopTraining();
  EXPECT_THAT(Await(b), ElementsAre(2));
}

TEST_P(TicketsTest, APullThatWasUnderWayWhenTheStepsEndedTouchesNothingLater) {
  Start(1, 0);
  plane_->Join(kA);
  Within(absl::Seconds(30), [this] {
    constexpr float kMark = 77;
    const auto client = plane_->Connect(kA);
    auto weights = client->AllocateParameters();
    const auto gradients = client->AllocateParameters();
    plane_->Freeze(1);
    EXPECT_EQ(*client->NextStep(std::nullopt, *weights), std::nullopt);
    for (std::size_t t = 0; t < weights->tensors(); ++t) {
      std::ranges::fill(weights->tensor(t), kMark);
    }
    plane_->Thaw();
    // A shard answers in order: the pull's blocks come before the push's acknowledgements.
    ASSERT_EQ(client->Push(*gradients, Step(1)), absl::OkStatus());
    for (std::size_t t = 0; t < weights->tensors(); ++t) {
      EXPECT_THAT(weights->tensor(t), ::testing::Each(kMark)) << "tensor " << t;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(On, TicketsTest, ::testing::ValuesIn(kFabrics),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
