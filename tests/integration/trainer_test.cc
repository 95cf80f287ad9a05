// The worker's loop with a model so small that its path can be told beforehand, bit for bit.
#include "worker/training/trainer.h"

#include <optional>
#include <span>
#include <vector>

#include "common/base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ps_server/optimizers/sgd.h"
#include "tests/integration/data_plane.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAreArray;

constexpr float kLearningRate = 0.3F;

Layout TestLayout() {
  return *Layout::Create({Tensor("first", {70000}), Tensor("none", {0}), Tensor("middle", {12}),
                          Tensor("last", {3, 20000})},
                         2);
}

float TargetAt(std::size_t tensor, std::size_t element) {
  return static_cast<float>(tensor + 1) * 0.7F + static_cast<float>(element % 13) * 0.1F;
}

/// Half the squared distance of each weight from its target: forward from the first tensor to the
/// last, backward from the last to the first.
class Descent final : public Model {
 public:
  absl::StatusOr<float> TrainStep(const Batch& batch, ParameterView weights,
                                  MutableParameterView gradients) override {
    class : public StepHooks {
      absl::Status AwaitWeights(std::size_t) override { return absl::OkStatus(); }
      absl::Status GradientReady(std::size_t) override { return absl::OkStatus(); }
    } none;
    return TrainStepWith(batch, weights, gradients, none);
  }

  absl::StatusOr<float> TrainStepWith(const Batch&, ParameterView weights,
                                      MutableParameterView gradients, StepHooks& hooks) override {
    ++steps_;
    float loss = 0;
    for (std::size_t t = 0; t < weights.size(); ++t) {
      if (absl::Status here = hooks.AwaitWeights(t); !here.ok()) return here;
      for (std::size_t i = 0; i < weights[t].size(); ++i) {
        const float distance = weights[t][i] - TargetAt(t, i);
        loss += distance * distance / 2;
      }
    }
    for (std::size_t t = weights.size(); t-- > 0;) {
      for (std::size_t i = 0; i < weights[t].size(); ++i) {
        gradients[t][i] = weights[t][i] - TargetAt(t, i);
      }
      if (absl::Status ready = hooks.GradientReady(t); !ready.ok()) return ready;
      if (steps_ == fails_at) return absl::InternalError("failed half-way");
    }
    return loss;
  }

  absl::StatusOr<Evaluation> Evaluate(const Batch&, ParameterView) override { return Evaluation(); }

  /// Fails in this step, from 1, once its first gradient has left; 0: never.
  std::uint64_t fails_at = 0;

 private:
  std::uint64_t steps_ = 0;
};

/// The descent takes no examples.
class EmptyBatches final : public BatchIterator {
 public:
  absl::StatusOr<std::optional<Batch>> Next() override { return Batch(); }
};

/// Of data that cannot be read any further after so many.
class FailingBatches final : public BatchIterator {
 public:
  explicit FailingBatches(int good) : left_(good) {}
  absl::StatusOr<std::optional<Batch>> Next() override {
    if (left_-- > 0) return Batch();
    return absl::DataLossError("the file ends in the middle");
  }

 private:
  int left_;
};

std::vector<float> SerialLosses(int steps) {
  const Layout layout = TestLayout();
  std::vector<std::vector<float>> weights, gradients;
  for (const TensorSpec& tensor : layout.tensors()) {
    weights.emplace_back(static_cast<std::size_t>(tensor.elements()));
    gradients.emplace_back(weights.back().size());
  }
  const std::vector<std::span<const float>> in(weights.begin(), weights.end());
  const std::vector<std::span<float>> out(gradients.begin(), gradients.end());
  Descent model;
  std::vector<float> losses;
  for (int step = 0; step < steps; ++step) {
    losses.push_back(*model.TrainStep(Batch(), in, out));
    for (std::size_t t = 0; t < weights.size(); ++t) {
      ps::ApplySgd(weights[t], weights[t], std::as_bytes(std::span(gradients[t])), kLearningRate);
    }
  }
  return losses;
}

class TrainerTest : public ::testing::TestWithParam<Fabric> {
 protected:
  void Start(std::uint64_t steps) {
    plane_ =
        std::make_unique<DataPlane>(TestLayout(), DataPlaneOptions{.fabric = GetParam(),
                                                                   .max_steps = Step(steps),
                                                                   .learning_rate = kLearningRate});
    plane_->Join(kA), plane_->Join(kB);
  }

  absl::StatusOr<TrainingResult> TrainOn(DataClient& client, const TrainerOptions& options = {}) {
    auto weights = client.AllocateParameters();
    auto gradients = client.AllocateParameters();
    EmptyBatches batches;
    return Train(options, client, model_, batches, *weights, *gradients);
  }

  Descent model_;
  std::unique_ptr<DataPlane> plane_;
};

TEST_P(TrainerTest, OverlappedOrNotItGivesTheSerialLosses) {
  constexpr int kSteps = 30;
  for (const bool overlap : {true, false}) {
    Start(kSteps);
    std::vector<float> losses;
    int pushes = 0;
    Within(absl::Seconds(60), [&] {
      const auto client = plane_->Connect(kA);
      const auto result =
          TrainOn(*client, {.log_every = 1,
                            .log = [&](const TrainingLine& line) { losses.push_back(line.loss); },
                            .on_push = [&] { ++pushes; },
                            .overlap = overlap});
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->end, TrainingResult::End::kNoStepsLeft);
    });
    EXPECT_EQ(pushes, kSteps);
    EXPECT_THAT(losses, ElementsAreArray(SerialLosses(kSteps))) << "overlap " << overlap;
  }
}

TEST_P(TrainerTest, ThePhasesAreWhereItsTimeWent) {
  Start(20);
  Within(absl::Seconds(60), [&] {
    const auto client = plane_->Connect(kA);
    const absl::Time started = MonotonicNow();
    const auto result = TrainOn(*client);
    const absl::Duration took = MonotonicNow() - started;
    ASSERT_TRUE(result.ok()) << result.status();
    const PhaseTimes& phases = result->phases;
    for (const absl::Duration phase :
         {phases.data, phases.ticket, phases.pull, phases.forward, phases.push}) {
      EXPECT_GT(phase, absl::ZeroDuration());
    }
    EXPECT_GE(phases.backward, absl::ZeroDuration()) << "next to nothing without hooks";
    EXPECT_LE(
        phases.data + phases.ticket + phases.pull + phases.forward + phases.backward + phases.push,
        took);
  });
}

TEST_P(TrainerTest, AnInterruptInTheWaitForAStepIsAnInterruptedEnd) {
  Start(3);
  std::promise<DataClient*> ready;
  auto end = std::async(std::launch::async, [&] {
    const auto holder = plane_->Connect(kB);
    auto held = holder->AllocateParameters();
    EXPECT_EQ(*holder->NextStep(std::nullopt, *held), Step(1));
    const auto client = plane_->Connect(kA);
    ready.set_value(client.get());
    const auto result = TrainOn(*client);
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->steps, 2U);
    return result->end;
  });
  auto future = ready.get_future();
  DataClient* const client = Await(future);
  // This report comes with the request that has to wait.
  EXPECT_TRUE(plane_->WaitForStep(Step(2)));
  client->Interrupt();
  EXPECT_EQ(Await(end, absl::Seconds(10)), TrainingResult::End::kInterrupted);
  EXPECT_EQ(plane_->server(0).global_step(), Step(2)) << "the last push is counted, once";
}

// The sanitizers see to it that nobody reads the buffers, which are gone before the client.
TEST_P(TrainerTest, AModelThatFailsEndsTheTraining) {
  Start(10);
  Within(absl::Seconds(30), [&] {
    const auto client = plane_->Connect(kA);
    model_.fails_at = 3;
    const auto result = TrainOn(*client);
    EXPECT_EQ(result.status(), absl::InternalError("failed half-way"));
    EXPECT_EQ(client->Release(std::nullopt), result.status());
  });
}

// The last step's weights are still being pulled then; its buffers, too, are gone before the
// client.
TEST_P(TrainerTest, DataThatFailEndTheTrainingAndTheLastStepCounts) {
  Start(10);
  Within(absl::Seconds(30), [&] {
    const auto client = plane_->Connect(kA);
    {
      auto weights = client->AllocateParameters();
      auto gradients = client->AllocateParameters();
      FailingBatches batches(3);
      const auto result = Train({}, *client, model_, batches, *weights, *gradients);
      EXPECT_EQ(result.status(), absl::DataLossError("the file ends in the middle"));
    }
    EXPECT_TRUE(plane_->WaitForStep(Step(3)));
  });
}

INSTANTIATE_TEST_SUITE_P(On, TrainerTest, ::testing::ValuesIn(kFabrics),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
