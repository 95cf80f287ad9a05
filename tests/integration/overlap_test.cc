// Steps whose gradients leave and whose weights arrive tensor by tensor.
#include <algorithm>
#include <numeric>
#include <span>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"
#include "worker/client/logic/client_logic.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

// A power of two, and gradients that are small integers: every sum is exact, in any order.
constexpr float kRate = 0.25F;

// Two of several blocks, one without elements, a scalar.
Layout OverlapLayout() {
  return *Layout::Create({Tensor("a", {3, 50000}), Tensor("b", {17}), Tensor("none", {0}),
                          Tensor("c", {120000}), Tensor("d", {}), Tensor("e", {999})},
                         2);
}

// Elements that differ; a matcher would take a second for as many.
std::size_t CountOthers(std::span<const float> values, float than) {
  return static_cast<std::size_t>(
      std::ranges::count_if(values, [than](float value) { return value != than; }));
}

float GradientOf(Step step, std::size_t tensor) {
  return static_cast<float>(step.value() % 7 + tensor);
}

class OverlapTest : public ::testing::TestWithParam<Fabric> {
 protected:
  void Start(std::uint64_t steps) {
    plane_ = std::make_unique<DataPlane>(OverlapLayout(), DataPlaneOptions{.fabric = GetParam(),
                                                                           .max_steps = Step(steps),
                                                                           .learning_rate = kRate,
                                                                           .notify_steps = 1});
    for (std::uint16_t w = 0; w < 3; ++w) plane_->Join(WorkerIndex(w));
  }

  std::size_t tensors() const { return plane_->layout().tensors().size(); }

  /// Every tensor of a step under way, in an order that differs from step to step.
  std::vector<std::size_t> OrderOf(Step step) const {
    std::vector<std::size_t> order(tensors());
    std::iota(order.rbegin(), order.rend(), 0);
    std::ranges::rotate(order, order.begin() + static_cast<long>(step.value() % order.size()));
    return order;
  }

  std::unique_ptr<DataPlane> plane_;
};

struct Buffers {
  explicit Buffers(DataClient& client)
      : weights(*client.AllocateParameters()), gradients(*client.AllocateParameters()) {}
  ParameterBuffer weights;
  ParameterBuffer gradients;
};

/// Computes and pushes the step's gradients in `order`.
absl::Status PushAll(DataClient& client, Buffers& buffers, Step step,
                     const std::vector<std::size_t>& order) {
  for (const std::size_t t : order) {
    std::ranges::fill(buffers.gradients.tensor(t), GradientOf(step, t));
    if (absl::Status pushed = client.PushTensor(t); !pushed.ok()) return pushed;
  }
  return client.FinishStep();
}

TEST_P(OverlapTest, EachTensorIsAwaitedAtTheValueThatTheOwnPushesMade) {
  static constexpr std::uint64_t kSteps = 40;
  Start(kSteps);
  Within(absl::Seconds(60), [this] {
    const auto client = plane_->Connect(kA);
    Buffers buffers(*client);
    std::vector<float> expected(tensors(), 0);
    std::optional<Step> completed;
    for (std::uint64_t s = 1; s <= kSteps; ++s) {
      ASSERT_EQ(*client->BeginStep(completed, buffers.weights, buffers.gradients), Step(s));
      for (std::size_t t = 0; t < tensors(); ++t) {
        ASSERT_EQ(client->AwaitTensor(t), absl::OkStatus());
        ASSERT_EQ(CountOthers(buffers.weights.tensor(t), expected[t]), 0U)
            << "step " << s << " tensor " << t;
        expected[t] -= kRate * GradientOf(Step(s), t);
      }
      ASSERT_EQ(client->AwaitTensor(0), absl::OkStatus()) << "once more is harmless";
      ASSERT_EQ(PushAll(*client, buffers, Step(s), OrderOf(Step(s))), absl::OkStatus());
      completed = Step(s);
    }
    EXPECT_EQ(*client->BeginStep(completed, buffers.weights, buffers.gradients), std::nullopt);
    EXPECT_EQ(client->pushes_acknowledged(), kSteps);
  });
}

TEST_P(OverlapTest, ThreeWorkersGiveTheSerialSum) {
  static constexpr std::uint64_t kSteps = 60;
  Start(kSteps);
  std::vector<std::future<void>> workers;
  for (std::uint16_t w = 0; w < 3; ++w) {
    workers.push_back(std::async(std::launch::async, [this, w] {
      const auto client = plane_->Connect(WorkerIndex(w));
      Buffers buffers(*client);
      std::optional<Step> step;
      while (true) {
        const auto next = client->BeginStep(step, buffers.weights, buffers.gradients);
        ASSERT_TRUE(next.ok()) << next.status();
        step = *next;
        if (!step.has_value()) break;
        ASSERT_EQ(PushAll(*client, buffers, *step, OrderOf(*step)), absl::OkStatus());
      }
    }));
  }
  for (auto& worker : workers) Await(worker, absl::Seconds(60));
  Within(absl::Seconds(30), [this] {
    const auto reader = plane_->Connect(kA);
    auto weights = *reader->AllocateParameters();
    ASSERT_EQ(reader->Pull(weights), absl::OkStatus());
    for (std::size_t t = 0; t < tensors(); ++t) {
      float sum = 0;
      for (std::uint64_t s = 1; s <= kSteps; ++s) sum += GradientOf(Step(s), t);
      EXPECT_EQ(CountOthers(weights.tensor(t), -kRate * sum), 0U) << "tensor " << t;
    }
  });
}

TEST_P(OverlapTest, WholeAndOverlappedStepsTakeTurns) {
  static constexpr std::uint64_t kSteps = 12;
  Start(kSteps);
  Within(absl::Seconds(60), [this] {
    const auto client = plane_->Connect(kA);
    Buffers one(*client), other(*client);
    float expected = 0;
    std::optional<Step> completed;
    for (std::uint64_t s = 1; s <= kSteps; ++s) {
      // A pull that followed into one buffer says nothing of another.
      Buffers& buffers = s % 4 < 2 ? one : other;
      const bool whole = s % 3 == 0;
      const auto step = whole ? client->NextStep(completed, buffers.weights)
                              : client->BeginStep(completed, buffers.weights, buffers.gradients);
      ASSERT_EQ(*step, Step(s));
      if (!whole) {
        ASSERT_EQ(client->AwaitTensor(3), absl::OkStatus());
      }
      ASSERT_EQ(CountOthers(buffers.weights.tensor(3), expected), 0U) << "step " << s;
      expected -= kRate * GradientOf(Step(s), 3);
      if (whole) {
        for (std::size_t t = 0; t < tensors(); ++t) {
          std::ranges::fill(buffers.gradients.tensor(t), GradientOf(Step(s), t));
        }
        ASSERT_EQ(client->Push(buffers.gradients, Step(s)), absl::OkStatus());
      } else {
        ASSERT_EQ(PushAll(*client, buffers, Step(s), OrderOf(Step(s))), absl::OkStatus());
      }
      completed = Step(s);
    }
  });
}

// It would wait for the frozen shard until the deadline, if it waited.
TEST_P(OverlapTest, PushTensorWaitsForNobody) {
  Start(10);
  std::promise<DataClient*> pushed;
  auto finished = std::async(std::launch::async, [&] {
    const auto client = plane_->Connect(kA);
    Buffers buffers(*client);
    EXPECT_EQ(*client->BeginStep(std::nullopt, buffers.weights, buffers.gradients), Step(1));
    for (std::size_t t = 0; t < tensors(); ++t) {
      EXPECT_EQ(client->AwaitTensor(t), absl::OkStatus());
    }
    plane_->Freeze(0);
    plane_->Freeze(1);
    for (std::size_t t = 0; t < tensors(); ++t) {
      EXPECT_EQ(client->PushTensor(t), absl::OkStatus());
    }
    pushed.set_value(client.get());
    return client->FinishStep();
  });
  auto future = pushed.get_future();
  Await(future, absl::Seconds(15))->Abort(absl::UnavailableError("the job ended"));
  EXPECT_EQ(Await(finished), absl::UnavailableError("the job ended"));
}

TEST_P(OverlapTest, AnInterruptEndsTheWaitForOthersStepsAndTheReleaseCounts) {
  Start(2);
  std::promise<DataClient*> ready;
  auto a = std::async(std::launch::async, [&] {
    const auto holder = plane_->Connect(kB);
    Buffers held(*holder);
    EXPECT_EQ(*holder->NextStep(std::nullopt, held.weights), Step(1));
    const auto client = plane_->Connect(kA);
    Buffers buffers(*client);
    EXPECT_EQ(*client->BeginStep(std::nullopt, buffers.weights, buffers.gradients), Step(2));
    EXPECT_EQ(PushAll(*client, buffers, Step(2), OrderOf(Step(2))), absl::OkStatus());
    ready.set_value(client.get());
    const auto next = client->BeginStep(Step(2), buffers.weights, buffers.gradients);
    EXPECT_EQ(next.status().code(), absl::StatusCode::kCancelled) << next.status();
    EXPECT_EQ(client->BeginStep(Step(2), buffers.weights, buffers.gradients).status().code(),
              absl::StatusCode::kCancelled)
        << "later waits too";
    return client->Release(Step(2));
  });
  auto future = ready.get_future();
  DataClient* const client = Await(future);
  // This report comes with the request that has to wait.
  EXPECT_TRUE(plane_->WaitForStep(Step(1)));
  client->Interrupt();
  EXPECT_EQ(Await(a, absl::Seconds(10)), absl::OkStatus());
  EXPECT_EQ(plane_->server(0).global_step(), Step(1));
}

TEST_P(OverlapTest, AStepThatWasBegunCanBeGivenBack) {
  Start(2);
  Within(absl::Seconds(30), [this] {
    const auto a = plane_->Connect(kA);
    const auto b = plane_->Connect(kB);
    Buffers of_a(*a), of_b(*b);
    ASSERT_EQ(*a->BeginStep(std::nullopt, of_a.weights, of_a.gradients), Step(1));
    ASSERT_EQ(a->Release(std::nullopt), absl::OkStatus());
    ASSERT_EQ(*b->BeginStep(std::nullopt, of_b.weights, of_b.gradients), Step(1));
    ASSERT_EQ(*a->BeginStep(std::nullopt, of_a.weights, of_a.gradients), Step(2));
    ASSERT_EQ(a->AwaitTensor(0), absl::OkStatus());
    ASSERT_EQ(PushAll(*a, of_a, Step(2), OrderOf(Step(2))), absl::OkStatus());
  });
}

// The sanitizers see to it that nothing touches the buffers any more.
TEST_P(OverlapTest, AStepThatFailsLetsGoOfItsBuffers) {
  Start(10);
  Within(absl::Seconds(30), [this] {
    const auto client = plane_->Connect(kA);
    auto buffers = std::make_unique<Buffers>(*client);
    ASSERT_EQ(*client->BeginStep(std::nullopt, buffers->weights, buffers->gradients), Step(1));
    ASSERT_EQ(client->AwaitTensor(0), absl::OkStatus());
    plane_->Freeze(0);
    ASSERT_EQ(client->PushTensor(0), absl::OkStatus());
    client->FailStep(absl::InvalidArgumentError("a label is out of range"));
    client->FailStep(absl::InternalError("not the first reason"));
    buffers.reset();
    plane_->Thaw();
    EXPECT_EQ(client->Release(std::nullopt), absl::InvalidArgumentError("a label is out of range"));
  });
}

// As it goes, its transport reports what a ps did not take, of which the time to send it again has
// come. The others' steps go on.
TEST_P(OverlapTest, AClientThatEndsInMidPushSendsNothingMore) {
  if (GetParam() != Fabric::kUcxShm) GTEST_SKIP() << "a peer's shared memory soon has no room";
  Start(10);
  Within(absl::Seconds(30), [this] {
    auto client = plane_->Connect(kA);
    Buffers buffers(*client);
    ASSERT_EQ(*client->BeginStep(std::nullopt, buffers.weights, buffers.gradients), Step(1));
    for (std::size_t t = 0; t < tensors(); ++t) ASSERT_EQ(client->AwaitTensor(t), absl::OkStatus());
    plane_->Freeze(0);
    plane_->Freeze(1);
    for (std::size_t t = 0; t < tensors(); ++t) ASSERT_EQ(client->PushTensor(t), absl::OkStatus());
    absl::SleepFor(ClientLogicOptions().retry_after + absl::Milliseconds(10));
    client.reset();
    plane_->Thaw();
    const auto other = plane_->Connect(kB);
    Buffers others(*other);
    const auto step = other->BeginStep(std::nullopt, others.weights, others.gradients);
    ASSERT_EQ(*step, Step(2));
    EXPECT_EQ(PushAll(*other, others, Step(2), OrderOf(Step(2))), absl::OkStatus());
    EXPECT_EQ(other->Release(Step(2)), absl::OkStatus());
  });
}

TEST_P(OverlapTest, CallsThatDoNotFitSayWhatDoes) {
  Start(10);
  Within(absl::Seconds(60), [this] {
    const auto refused = [this](const std::function<absl::Status(DataClient&, Buffers&)>& call) {
      plane_->Join(kA);
      const auto client = plane_->Connect(kA);
      Buffers buffers(*client);
      EXPECT_TRUE(client->BeginStep(std::nullopt, buffers.weights, buffers.gradients).ok());
      return call(*client, buffers);
    };
    const auto expect = [](const absl::Status& status, const char* words) {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    };
    expect(refused([](auto& client, auto& buffers) { return client.Pull(buffers.weights); }),
           "FinishStep ends it");
    expect(refused([](auto& client, auto& buffers) {
             return client.BeginStep(std::nullopt, buffers.weights, buffers.gradients).status();
           }),
           "FinishStep ends it");
    expect(refused([](auto& client, auto&) { return client.FinishStep(); }), "was not pushed");
    expect(refused([](auto& client, auto&) {
             client.PushTensor(1).IgnoreError();
             return client.PushTensor(1);
           }),
           "a second time");
    expect(refused([](auto& client, auto&) {
             client.PushTensor(1).IgnoreError();
             return client.AwaitTensor(1);
           }),
           "pushed already");
    expect(refused([](auto& client, auto&) {
             client.PushTensor(1).IgnoreError();
             return client.Release(std::nullopt);
           }),
           "FinishStep ends it");
    expect(refused([](auto& client, auto&) {
             client.Release(std::nullopt).IgnoreError();
             return client.PushTensor(1);
           }),
           "BeginStep grants one");
    EXPECT_EQ(refused([](auto& client, auto&) { return client.AwaitTensor(6); }).code(),
              absl::StatusCode::kInvalidArgument);
  });
}

INSTANTIATE_TEST_SUITE_P(On, OverlapTest, ::testing::ValuesIn(kFabrics),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
