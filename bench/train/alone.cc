#include "bench/train/alone.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/cpu.h"
#include "common/base/status_macros.h"
#include "common/model/initializer.h"
#include "jobs/registry.h"
#include "ps_server/optimizers/sgd.h"
#include "runtime/member_assignment.h"

namespace weir::bench {
namespace {

constexpr char kJob[] = "fashion-mnist";

/// When the first gradient is final, forward ends and backward begins.
class FirstGradient final : public StepHooks {
 public:
  absl::Status AwaitWeights(std::size_t) override { return absl::OkStatus(); }
  absl::Status GradientReady(std::size_t) override {
    if (!at_.has_value()) at_ = MonotonicNow();
    return absl::OkStatus();
  }
  void Reset() { at_.reset(); }
  absl::Time at(absl::Time otherwise) const { return at_.value_or(otherwise); }

 private:
  std::optional<absl::Time> at_;
};

class Trainer {
 public:
  static absl::StatusOr<Trainer> Create(const AloneOptions& options) {
    Trainer trainer(options.learning_rate);
    WEIR_ASSIGN_OR_RETURN(const ChosenJob chosen, CreateJob(kJob));
    const Job* const job = chosen.job.get();
    const InputContext input{.data_dir = options.data_dir,
                             .batch_size = options.batch_size,
                             .worker = options.worker,
                             .workers = options.workers,
                             .seed = options.seed};
    WEIR_ASSIGN_OR_RETURN(const Dataset data, job->TrainingData(input));
    WEIR_ASSIGN_OR_RETURN(trainer.batches_, data.CreateIterator());
    WEIR_ASSIGN_OR_RETURN(trainer.model_, job->CreateModel(options.batch_size));
    for (const TensorSpec& tensor : job->tensors()) {
      trainer.weights_.emplace_back(static_cast<std::size_t>(tensor.elements()));
      trainer.gradients_.emplace_back(trainer.weights_.back().size());
      InitializeTensor(tensor, options.seed, 0, trainer.weights_.back());
    }
    return trainer;
  }

  absl::StatusOr<AloneResult> Run(std::uint64_t steps) {
    const std::vector<std::span<const float>> weights(weights_.begin(), weights_.end());
    const std::vector<std::span<float>> gradients(gradients_.begin(), gradients_.end());
    AloneResult result{.steps = steps};
    FirstGradient first;
    WEIR_ASSIGN_OR_RETURN(std::optional<Batch> batch, batches_->Next());
    const absl::Time start = MonotonicNow();
    absl::Time now = start;
    for (std::uint64_t step = 0; step < steps; ++step) {
      if (!batch.has_value()) return absl::OutOfRangeError("the data ended before the steps did");
      first.Reset();
      WEIR_ASSIGN_OR_RETURN(result.final_loss,
                            model_->TrainStepWith(*batch, weights, gradients, first));
      const absl::Time computed = MonotonicNow();
      result.phases.forward += first.at(computed) - now;
      result.phases.backward += computed - first.at(computed);
      for (std::size_t t = 0; t < weights_.size(); ++t) {
        ps::ApplySgd(weights_[t], weights_[t], std::as_bytes(gradients[t]), learning_rate_);
      }
      const absl::Time applied = MonotonicNow();
      result.phases.push += applied - computed;
      if (step + 1 < steps) {
        WEIR_ASSIGN_OR_RETURN(batch, batches_->Next());
      }
      now = MonotonicNow();
      result.phases.data += now - applied;
    }
    result.seconds = absl::ToDoubleSeconds(now - start);
    return result;
  }

 private:
  explicit Trainer(float learning_rate) : learning_rate_(learning_rate) {}
  float learning_rate_;
  std::unique_ptr<BatchIterator> batches_;
  std::unique_ptr<Model> model_;
  std::vector<std::vector<float>> weights_;
  std::vector<std::vector<float>> gradients_;
};

}  // namespace

std::string AloneResult::ToJson() const {
  return nlohmann::json{{"steps", steps},
                        {"seconds", seconds},
                        {"final_loss", final_loss},
                        {"data_seconds", absl::ToDoubleSeconds(phases.data)},
                        {"forward_seconds", absl::ToDoubleSeconds(phases.forward)},
                        {"backward_seconds", absl::ToDoubleSeconds(phases.backward)},
                        {"push_seconds", absl::ToDoubleSeconds(phases.push)}}
      .dump();
}

absl::StatusOr<AloneResult> AloneResult::FromJson(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InternalError(absl::StrCat("a trainer wrote '", text, "'"));
  const auto seconds = [&](const char* key) { return absl::Seconds(json.value(key, 0.0)); };
  return AloneResult{.steps = json.value("steps", std::uint64_t{0}),
                     .seconds = json.value("seconds", 0.0),
                     .final_loss = json.value("final_loss", 0.0F),
                     .phases = {.data = seconds("data_seconds"),
                                .forward = seconds("forward_seconds"),
                                .backward = seconds("backward_seconds"),
                                .push = seconds("push_seconds")}};
}

absl::StatusOr<AloneResult> TrainAlone(const AloneOptions& options) {
  if (options.parent > 0) WEIR_RETURN_IF_ERROR(DieWithParent(options.parent));
  WEIR_RETURN_IF_ERROR(PinToCpu(options.cpu));
  WEIR_ASSIGN_OR_RETURN(Trainer trainer, Trainer::Create(options));
  return trainer.Run(options.steps);
}

}  // namespace weir::bench
