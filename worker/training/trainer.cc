#include "worker/training/trainer.h"

#include <optional>

#include "common/base/clock.h"
#include "common/base/status_macros.h"

namespace weir {
namespace {

/// Decides which steps are logged: the first of this worker at or past each multiple.
class LineLog {
 public:
  explicit LineLog(const TrainerOptions& options) : options_(options) {}

  void OnStep(Step step, float loss) {
    ++steps_;
    if (options_.log_every == 0 || !options_.log) return;
    const std::uint64_t period = step.value() / options_.log_every;
    if (period == period_) return;
    period_ = period;
    const absl::Time now = MonotonicNow();
    const double seconds = absl::ToDoubleSeconds(now - since_);
    options_.log({.step = step,
                  .loss = loss,
                  .steps_per_second = seconds > 0 ? static_cast<double>(steps_) / seconds : 0});
    since_ = now;
    steps_ = 0;
  }

 private:
  const TrainerOptions& options_;
  std::uint64_t period_ = 0;
  std::uint64_t steps_ = 0;
  absl::Time since_ = MonotonicNow();
};

}  // namespace

absl::StatusOr<TrainingResult> Train(const TrainerOptions& options, DataClient& client,
                                     Model& model, BatchIterator& batches, ParameterBuffer& weights,
                                     ParameterBuffer& gradients) {
  TrainingResult result;
  LineLog lines(options);
  std::optional<Step> completed;
  while (true) {
    if (options.interrupted && options.interrupted()) {
      result.end = TrainingResult::End::kInterrupted;
      break;
    }
    WEIR_ASSIGN_OR_RETURN(const std::optional<Batch> batch, batches.Next());
    if (!batch.has_value()) {
      result.end = TrainingResult::End::kNoDataLeft;
      break;
    }
    WEIR_ASSIGN_OR_RETURN(const std::optional<Step> step, client.NextStep(completed, weights));
    completed.reset();
    if (!step.has_value()) return result;
    WEIR_ASSIGN_OR_RETURN(result.final_loss,
                          model.TrainStep(*batch, weights.view(), gradients.mutable_view()));
    WEIR_RETURN_IF_ERROR(client.Push(gradients, *step));
    completed = step;
    if (++result.steps == 1 && options.first_step) options.first_step();
    lines.OnStep(*step, result.final_loss);
  }
  WEIR_RETURN_IF_ERROR(client.Release(completed));
  return result;
}

}  // namespace weir
