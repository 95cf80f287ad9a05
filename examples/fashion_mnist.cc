// TensorFlow's Fashion-MNIST tutorial with weir: an input function, a small CNN, TrainAndEvaluate.
// TF_CONFIG says which role this process plays; without one a whole small cluster runs here.
// Usage: fashion_mnist MODEL_DIR [MAX_STEPS]
#include <weir/exit_code.h>
#include <weir/nn/sequential.h>
#include <weir/train_and_evaluate.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace nn = weir::nn;

nn::Sequential Net() {
  nn::Sequential net({28, 28, 1});
  net.Add(nn::Conv2D{.filters = 32, .kernel = 3, .activation = nn::Activation::kRelu});
  net.Add(nn::MaxPool2D{.pool = 2});
  net.Add(nn::Flatten{});
  net.Add(nn::Dense{.units = 64, .activation = nn::Activation::kRelu});
  net.Add(nn::Dense{.units = 10});
  return net;
}

absl::StatusOr<weir::Dataset> Images(const weir::InputContext& context, const std::string& part) {
  const std::string data =
      context.data_dir.empty() ? "/usr/share/datasets/fashion-mnist" : context.data_dir;
  const std::string prefix = data + "/" + part;
  auto images =
      weir::Dataset::FromIdx(prefix + "-images-idx3-ubyte.gz", prefix + "-labels-idx1-ubyte.gz");
  if (!images.ok()) return images.status();
  return images->Map([](std::span<float> pixels, std::int32_t&) {
    for (float& pixel : pixels) pixel /= 255.0F;
  });
}

class FashionMnist final : public weir::Job {
 public:
  std::string name() const override { return "fashion-mnist"; }
  std::vector<weir::TensorSpec> tensors() const override { return Net().tensors(); }
  std::uint64_t default_max_steps() const override { return 14000; }
  absl::StatusOr<std::unique_ptr<weir::Model>> CreateModel(int batch_size) const override {
    return Net().Compile(batch_size);
  }
  absl::StatusOr<weir::Dataset> TrainingData(const weir::InputContext& context) const override {
    const auto images = Images(context, "train");
    if (!images.ok()) return images;
    return images->Filter([](std::span<const float>, std::int32_t label) { return label < 10; })
        .Shard(context.workers, context.worker)
        .Shuffle(10000, context.seed)
        .Repeat()
        .Batch(context.batch_size, /*drop_remainder=*/true)
        .Prefetch(2);
  }
  absl::StatusOr<weir::Dataset> TestData(const weir::InputContext& context) const override {
    const auto images = Images(context, "t10k");
    return images.ok() ? images->Batch(context.batch_size) : images;
  }
};

int main(int argc, char** argv) {
  weir::TrainSpec train;
  weir::RunConfig config;
  if (argc > 1) config.model_dir = argv[1];
  if (argc > 2) train.max_steps = std::strtoull(argv[2], nullptr, 10);
  config.learning_rate = 0.05F;
  config.save_checkpoints_steps = 500;
  config.keep_checkpoint_max = 3;
  config.log_step_count_steps = 100;
  const absl::Status status =
      weir::TrainAndEvaluate(FashionMnist(), train, weir::EvalSpec{}, config);
  if (!status.ok()) std::cerr << status.message() << "\n";
  return static_cast<int>(weir::ExitCodeOf(status));
}
