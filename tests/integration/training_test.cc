// A whole training through a parameter server against the same training without one.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "common/model/initializer.h"
#include "gtest/gtest.h"
#include "jobs/registry.h"
#include "ps_server/optimizers/sgd.h"
#include "tests/integration/data_plane.h"
#include "worker/training/trainer.h"

namespace weir::testing {
namespace {

constexpr int kSteps = 50;
constexpr std::uint64_t kSeed = 7;
constexpr float kLearningRate = 0.1F;

InputContext Input() {
  const char* folder = std::getenv("WEIR_DATA");
  return {.data_dir = folder != nullptr ? folder : "/usr/share/datasets/fashion-mnist",
          .batch_size = 256,
          .seed = kSeed};
}

std::unique_ptr<Job> FashionMnist() { return std::move(CreateJob("fashion-mnist")->job); }

// The loop that anybody would write without a parameter server.
std::vector<float> SerialLosses() {
  const std::unique_ptr<Job> job = FashionMnist();
  const auto batches = (*job->TrainingData(Input())).CreateIterator();
  const auto model = job->CreateModel(Input().batch_size);
  std::vector<std::vector<float>> weights, gradients;
  for (const TensorSpec& tensor : job->tensors()) {
    weights.emplace_back(static_cast<std::size_t>(tensor.elements()));
    gradients.emplace_back(weights.back().size());
    InitializeTensor(tensor, kSeed, 0, weights.back());
  }
  const std::vector<std::span<const float>> in(weights.begin(), weights.end());
  const std::vector<std::span<float>> out(gradients.begin(), gradients.end());
  std::vector<float> losses;
  for (int step = 0; step < kSteps; ++step) {
    const auto batch = (*batches)->Next();
    losses.push_back(*(*model)->TrainStep(**batch, in, out));
    for (std::size_t t = 0; t < weights.size(); ++t) {
      ps::ApplySgd(weights[t], weights[t], std::as_bytes(std::span(gradients[t])), kLearningRate);
    }
  }
  return losses;
}

const std::vector<float>& SerialLossesOnce() {
  static const std::vector<float> losses = SerialLosses();
  return losses;
}

class TrainingTest : public ::testing::TestWithParam<Fabric> {
 protected:
  static absl::StatusOr<TrainingResult> TrainOn(const Job& job, DataClient& client,
                                                std::vector<float>& losses) {
    const auto batches = (*job.TrainingData(Input())).CreateIterator();
    const auto model = job.CreateModel(Input().batch_size);
    auto weights = client.AllocateParameters();
    auto gradients = client.AllocateParameters();
    return Train(
        {.log_every = 1, .log = [&](const TrainingLine& line) { losses.push_back(line.loss); }},
        client, **model, **batches, *weights, *gradients);
  }
};

TEST_P(TrainingTest, OnePsAndOneWorkerGiveTheLossesOfASerialTraining) {
  if (!std::filesystem::exists(Input().data_dir)) {
    GTEST_SKIP() << "needs Fashion-MNIST in " << Input().data_dir
                 << " (Debian's dataset-fashion-mnist, or WEIR_DATA)";
  }
  const std::unique_ptr<Job> job = FashionMnist();
  const auto layout = Layout::Create(job->tensors(), 1);
  ASSERT_TRUE(layout.ok()) << layout.status();
  DataPlane plane(*layout, {.fabric = GetParam(),
                            .max_steps = Step(kSteps),
                            .learning_rate = kLearningRate,
                            .loader = [&](const Block& block, std::span<float> values) {
                              InitializeTensor(layout->tensors()[block.tensor], kSeed, block.offset,
                                               values);
                              return absl::OkStatus();
                            }});
  plane.Join(WorkerIndex(0));
  std::vector<float> losses;
  Within(absl::Seconds(100), [&] {
    const auto client = plane.Connect(WorkerIndex(0));
    const auto result = TrainOn(*job, *client, losses);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->end, TrainingResult::End::kNoStepsLeft);
    EXPECT_EQ(result->steps, std::uint64_t{kSteps});
  });
  const std::vector<float>& serial = SerialLossesOnce();
  ASSERT_EQ(losses.size(), serial.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], serial[i], 1e-6 * std::abs(serial[i])) << "step " << i + 1;
  }
  EXPECT_LT(serial.back(), 0.6F * serial.front()) << "and it learns";
}

INSTANTIATE_TEST_SUITE_P(On, TrainingTest, ::testing::ValuesIn(kFabrics),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
