#include "worker/training/trainer.h"

#include <algorithm>
#include <optional>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "worker/training/exchange_hooks.h"

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

/// Adds each lap to the phase that it was spent in.
class Stopwatch {
 public:
  void Restart() { since_ = MonotonicNow(); }
  void Lap(absl::Duration& phase) {
    const absl::Time now = MonotonicNow();
    phase += now - since_;
    since_ = now;
  }

 private:
  absl::Time since_ = MonotonicNow();
};

/// The model's part of one step; `times` gets what it computed and what its hooks took.
absl::StatusOr<float> Compute(const TrainerOptions& options, DataClient& client, Model& model,
                              const Batch& batch, const ParameterBuffer& weights,
                              ParameterBuffer& gradients, PhaseTimes& times) {
  PhaseTimes of_hooks;
  ExchangeHooks hooks(client, of_hooks);
  const absl::Time start = MonotonicNow();
  // The base class's own step awaits everything first, and reports everything last.
  absl::StatusOr<float> loss =
      options.overlap
          ? model.TrainStepWith(batch, weights.view(), gradients.mutable_view(), hooks)
          : model.Model::TrainStepWith(batch, weights.view(), gradients.mutable_view(), hooks);
  const absl::Time end = MonotonicNow();
  // All weights are awaited before the first gradient is final, and all gradients sent after.
  const absl::Time turn = std::min(hooks.first_gradient(), end);
  times.forward += turn - start - of_hooks.pull;
  times.backward += end - turn - of_hooks.push;
  times.pull += of_hooks.pull;
  times.push += of_hooks.push;
  if (!loss.ok()) client.FailStep(loss.status());
  return loss;
}

}  // namespace

absl::StatusOr<TrainingResult> Train(const TrainerOptions& options, DataClient& client,
                                     Model& model, BatchIterator& batches, ParameterBuffer& weights,
                                     ParameterBuffer& gradients) {
  TrainingResult result;
  LineLog lines(options);
  Stopwatch watch;
  PhaseTimes& times = result.phases;
  std::optional<Step> completed;
  while (true) {
    if (options.interrupted && options.interrupted()) {
      result.end = TrainingResult::End::kInterrupted;
      break;
    }
    watch.Restart();
    const absl::StatusOr<std::optional<Batch>> next = batches.Next();
    watch.Lap(times.data);
    if (!next.ok()) {
      // What the last step pulls ahead may still be written to the caller's weights.
      if (const absl::Status told = client.Release(completed); !told.ok()) {
        LogWarning(told.message());
      }
      return next.status();
    }
    const std::optional<Batch>& batch = *next;
    if (!batch.has_value()) {
      result.end = TrainingResult::End::kNoDataLeft;
      break;
    }
    const absl::StatusOr<std::optional<Step>> step =
        client.BeginStep(completed, weights, gradients);
    watch.Lap(times.ticket);
    if (absl::IsCancelled(step.status())) {
      result.end = TrainingResult::End::kInterrupted;
      break;
    }
    WEIR_RETURN_IF_ERROR(step.status());
    completed.reset();
    if (!step->has_value()) return result;
    WEIR_ASSIGN_OR_RETURN(result.final_loss,
                          Compute(options, client, model, *batch, weights, gradients, times));
    watch.Restart();
    WEIR_RETURN_IF_ERROR(client.FinishStep());
    watch.Lap(times.push);
    completed = **step;
    ++result.steps;
    if (options.on_push) options.on_push();
    lines.OnStep(**step, result.final_loss);
  }
  WEIR_RETURN_IF_ERROR(client.Release(completed));
  return result;
}

}  // namespace weir
