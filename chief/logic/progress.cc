#include "chief/logic/progress.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/eta_text.h"

namespace weir::chief {
namespace {

// JSON knows no NaN, and a loss that diverged is news, not an error.
std::string JsonNumber(double value) {
  return std::isfinite(value) ? absl::StrFormat("%.7g", value) : "null";
}

double SecondsBetween(absl::Time from, absl::Time to) {
  return from == absl::InfinitePast() ? 0.0 : absl::ToDoubleSeconds(to - from);
}

}  // namespace

Progress::Progress(Step start, Step max, std::uint64_t log_every)
    : start_(start), max_(max), log_every_(log_every), global_step_(start), logged_step_(start) {}

void Progress::StartTraining(absl::Time now) {
  training_since_ = now;
  logged_at_ = now;
}

void Progress::OnStepReached(Step step) {
  if (step > global_step_) global_step_ = step;
}

std::string Progress::OnTrainingLine(std::uint32_t worker, const wire::TrainingLineT& line,
                                     absl::Time now) {
  lines_[worker] = {line.step, line.loss, line.steps_per_second};
  news_ = true;
  UpdateMean();
  return absl::StrCat("{\"step\":", line.step, ",\"loss\":", JsonNumber(line.loss), ",\"seconds\":",
                      absl::StrFormat("%.3f", SecondsBetween(training_since_, now)),
                      ",\"worker\":", worker, "}");
}

void Progress::OnFinished(std::uint32_t worker, const wire::FinishedT& finished) {
  if (finished.steps == 0) return;  // it trained nothing: its loss says nothing
  WorkerLine& line = lines_[worker];
  line.loss = finished.final_loss;
  news_ = true;
  UpdateMean();
}

void Progress::OnWorkerGone(std::uint32_t worker) {
  lines_.erase(worker);
  if (!lines_.empty()) UpdateMean();
}

std::string Progress::EvaluationMetrics(const wire::EvaluationDoneT& evaluation,
                                        absl::Time now) const {
  return absl::StrCat(
      "{\"step\":", evaluation.step, ",\"accuracy\":", JsonNumber(evaluation.accuracy),
      ",\"loss\":", JsonNumber(evaluation.loss), ",\"examples\":", evaluation.examples,
      ",\"seconds\":", absl::StrFormat("%.3f", SecondsBetween(training_since_, now)),
      ",\"kind\":\"eval\"}");
}

void Progress::UpdateMean() {
  double sum = 0.0;
  for (const auto& [worker, line] : lines_) sum += line.loss;
  mean_loss_ = static_cast<float>(sum / static_cast<double>(lines_.size()));
}

double Progress::steps_per_second(absl::Time now) const {
  const double seconds = SecondsBetween(logged_at_, now);
  const std::uint64_t steps = global_step_.value() - logged_step_.value();
  // Shortly after a line its rate is a better figure than one of a few steps.
  if (steps == 0 || seconds < 0.5) return logged_rate_;
  return static_cast<double>(steps) / seconds;
}

std::optional<std::string> Progress::TakeLogLine(absl::Time now, bool at_end) {
  if (training_since_ != absl::InfinitePast()) pace_.Observe(global_step_, now);
  if (log_every_ == 0 || !news_ || lines_.empty()) return std::nullopt;
  // Lines are due at multiples of `log_every`, so that a late one does not shift all others.
  const bool due = global_step_.value() / log_every_ > logged_step_.value() / log_every_;
  if (!due && !(at_end && global_step_ > logged_step_)) return std::nullopt;
  const double seconds = SecondsBetween(logged_at_, now);
  const std::uint64_t steps = global_step_.value() - logged_step_.value();
  logged_rate_ = seconds > 0 ? static_cast<double>(steps) / seconds : 0.0;
  logged_step_ = global_step_;
  logged_at_ = now;
  news_ = false;
  return absl::StrFormat(
      "step %d loss %.4f (mean of %d %s) steps/s %.1f ETA %s", global_step_.value(), *mean_loss_,
      lines_.size(), lines_.size() == 1 ? "worker" : "workers", logged_rate_, EtaText(time_left()));
}

const Progress::WorkerLine* Progress::Find(std::uint32_t worker) const {
  const auto found = lines_.find(worker);
  return found == lines_.end() ? nullptr : &found->second;
}

}  // namespace weir::chief
