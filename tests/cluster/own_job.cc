// A program with a job of its own, as a user would write it: three well separated clouds of points,
// told apart by one dense layer. Usage: own_job MODEL_DIR STEPS [SUMMARY]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "weir/exit_code.h"
#include "weir/nn/layers.h"
#include "weir/nn/sequential.h"
#include "weir/train_and_evaluate.h"

namespace {

class Clouds final : public weir::Job {
 public:
  std::string name() const override { return "clouds"; }
  std::vector<weir::TensorSpec> tensors() const override { return Net().tensors(); }
  std::uint64_t default_max_steps() const override { return 100; }
  absl::StatusOr<std::unique_ptr<weir::Model>> CreateModel(int batch_size) const override {
    return Net().Compile(batch_size);
  }
  absl::StatusOr<weir::Dataset> TrainingData(const weir::InputContext& context) const override {
    auto points = Points(3000, 1);
    if (!points.ok()) return points.status();
    return points->Shard(context.workers, context.worker)
        .Shuffle(1000, context.seed)
        .Repeat()
        .Batch(context.batch_size);
  }
  absl::StatusOr<weir::Dataset> TestData(const weir::InputContext& context) const override {
    auto points = Points(600, 2);
    if (!points.ok()) return points.status();
    return points->Batch(context.batch_size);
  }

 private:
  static weir::nn::Sequential Net() {
    weir::nn::Sequential net({8});
    net.Add(weir::nn::Dense{.units = 3});
    return net;
  }

  static absl::StatusOr<weir::Dataset> Points(int count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> noise(0.0F, 0.3F);
    std::vector<float> features;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < count; ++i) {
      const int label = i % 3;
      for (int f = 0; f < 8; ++f)
        features.push_back((f % 3 == label ? 1.0F : 0.0F) + noise(random));
      labels.push_back(label);
    }
    return weir::Dataset::FromVectors(std::move(features), std::move(labels), {8});
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  weir::RunConfig config;
  config.model_dir = argv[1];
  config.batch_size = 60;
  config.log_step_count_steps = 10;
  if (argc > 3) config.summary = argv[3];
  const absl::Status status = weir::TrainAndEvaluate(
      Clouds(), {.max_steps = std::strtoull(argv[2], nullptr, 10)}, {}, config);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return static_cast<int>(weir::ExitCodeOf(status));
}
