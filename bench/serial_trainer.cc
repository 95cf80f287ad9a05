// The same training as `weir local` without any parameter server: what a worker's step costs alone.
// tests/cluster/throughput.py compares the two. One thread; set-up is not timed.
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/model/initializer.h"
#include "jobs/registry.h"
#include "ps_server/optimizers/sgd.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

constexpr int kWarmUpSteps = 20;

struct Arguments {
  int steps = 500;
  float learning_rate = 0.1F;
  InputContext input;
};

absl::StatusOr<Arguments> Parse(std::span<char* const> words) {
  Arguments result;
  const auto bad = [](const std::string& what) {
    return WithExitCode(
        absl::InvalidArgumentError(absl::StrCat(
            what,
            "; usage: serial_trainer [--steps N] [--batch-size N] [--data-dir DIR] [--seed N] "
            "[--learning-rate F]")),
        ExitCode::kBadUsage);
  };
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string flag = words[i];
    if (i + 1 == words.size()) return bad(absl::StrCat(flag, " needs a value"));
    const std::string value = words[i + 1];
    bool good = true;
    if (flag == "--steps") {
      good = absl::SimpleAtoi(value, &result.steps) && result.steps > 0;
    } else if (flag == "--batch-size") {
      good = absl::SimpleAtoi(value, &result.input.batch_size) && result.input.batch_size > 0;
    } else if (flag == "--data-dir") {
      result.input.data_dir = value;
    } else if (flag == "--seed") {
      good = absl::SimpleAtoi(value, &result.input.seed);
    } else if (flag == "--learning-rate") {
      good = absl::SimpleAtof(value, &result.learning_rate);
    } else {
      return bad(absl::StrCat("there is no flag ", flag));
    }
    if (!good) return bad(absl::StrCat(flag, " cannot be ", value));
  }
  return result;
}

/// Weights, gradients and the loop over them.
class SerialTraining {
 public:
  static absl::StatusOr<SerialTraining> Create(const Arguments& arguments) {
    SerialTraining training(arguments.learning_rate);
    WEIR_ASSIGN_OR_RETURN(const ChosenJob chosen, CreateJob("fashion-mnist"));
    WEIR_ASSIGN_OR_RETURN(const Dataset data, chosen.job->TrainingData(arguments.input));
    WEIR_ASSIGN_OR_RETURN(training.batches_, data.CreateIterator());
    WEIR_ASSIGN_OR_RETURN(training.model_, chosen.job->CreateModel(arguments.input.batch_size));
    for (const TensorSpec& tensor : chosen.job->tensors()) {
      training.weights_.emplace_back(static_cast<std::size_t>(tensor.elements()));
      training.gradients_.emplace_back(training.weights_.back().size());
      InitializeTensor(tensor, arguments.input.seed, 0, training.weights_.back());
    }
    return training;
  }

  /// Trains; the last step's loss.
  absl::StatusOr<float> Run(int steps) {
    const std::vector<std::span<const float>> weights(weights_.begin(), weights_.end());
    const std::vector<std::span<float>> gradients(gradients_.begin(), gradients_.end());
    float loss = 0;
    for (int step = 0; step < steps; ++step) {
      WEIR_ASSIGN_OR_RETURN(const std::optional<Batch> batch, batches_->Next());
      if (!batch.has_value()) return absl::OutOfRangeError("the data ended before the steps did");
      WEIR_ASSIGN_OR_RETURN(loss, model_->TrainStep(*batch, weights, gradients));
      for (std::size_t t = 0; t < weights_.size(); ++t) {
        ps::ApplySgd(weights_[t], weights_[t], std::as_bytes(gradients[t]), learning_rate_);
      }
    }
    return loss;
  }

 private:
  explicit SerialTraining(float learning_rate) : learning_rate_(learning_rate) {}
  float learning_rate_;
  std::unique_ptr<BatchIterator> batches_;
  std::unique_ptr<Model> model_;
  std::vector<std::vector<float>> weights_;
  std::vector<std::vector<float>> gradients_;
};

absl::Status Main(std::span<char* const> words) {
  WEIR_ASSIGN_OR_RETURN(const Arguments arguments, Parse(words));
  WEIR_ASSIGN_OR_RETURN(SerialTraining training, SerialTraining::Create(arguments));
  WEIR_RETURN_IF_ERROR(training.Run(kWarmUpSteps).status());
  const absl::Time start = MonotonicNow();
  WEIR_ASSIGN_OR_RETURN(const float loss, training.Run(arguments.steps));
  const double seconds = absl::ToDoubleSeconds(MonotonicNow() - start);
  const nlohmann::json result = {
      {"steps", arguments.steps},
      {"seconds", seconds},
      {"examples_per_second", arguments.steps * arguments.input.batch_size / seconds},
      {"final_loss", loss}};
  std::printf("%s\n", result.dump().c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const absl::Status status =
      weir::Main(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!status.ok()) std::fprintf(stderr, "serial_trainer: %s\n", status.ToString().c_str());
  return static_cast<int>(weir::ExitCodeOf(status));
}
