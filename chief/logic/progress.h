#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "chief/logic/pace.h"
#include "common/base/ids.h"
#include "schemas/chief_generated.h"

namespace weir::chief {

/// How far training has come: the global step, the workers' losses, the rate.
class Progress {
 public:
  struct WorkerLine {
    std::uint64_t step = 0;
    float loss = 0.0F;
    float steps_per_second = 0.0F;
  };

  /// `log_every` global steps a line is due; 0: never.
  Progress(Step start, Step max, std::uint64_t log_every);

  /// Rates and seconds count from here.
  void StartTraining(absl::Time now);
  /// Lower and equal steps are ignored: messages of two sources may cross.
  void OnStepReached(Step step);
  /// Returns the line for metrics.jsonl.
  std::string OnTrainingLine(std::uint32_t worker, const wire::TrainingLineT& line, absl::Time now);
  void OnFinished(std::uint32_t worker, const wire::FinishedT& finished);
  /// Its loss counts in no further mean.
  void OnWorkerGone(std::uint32_t worker);
  std::string EvaluationMetrics(const wire::EvaluationDoneT& evaluation, absl::Time now) const;

  /// "step N loss X (mean of W workers) steps/s Y ETA Z": when `log_every` steps have passed since
  /// the last and a worker reported since. `at_end`: also when fewer have passed. Call it with
  /// every event: the ETA's rate is taken here.
  std::optional<std::string> TakeLogLine(absl::Time now, bool at_end);

  Step global_step() const { return global_step_; }
  bool max_reached() const { return global_step_ >= max_; }
  /// Of the last line of each worker that is still in; without any, of those that were.
  std::optional<float> mean_loss() const { return mean_loss_; }
  /// Over the steps since the last log line.
  double steps_per_second(absl::Time now) const;
  /// Until `max` is reached; none where it is not known.
  std::optional<absl::Duration> time_left() const { return pace_.TimeTo(max_); }
  const WorkerLine* Find(std::uint32_t worker) const;

 private:
  void UpdateMean();

  const Step start_;
  const Step max_;
  const std::uint64_t log_every_;
  Step global_step_;
  absl::Time training_since_ = absl::InfinitePast();
  std::map<std::uint32_t, WorkerLine> lines_;
  std::optional<float> mean_loss_;
  bool news_ = false;  // a worker reported since the last log line
  Step logged_step_;
  absl::Time logged_at_ = absl::InfinitePast();
  double logged_rate_ = 0.0;
  Pace pace_;
};

}  // namespace weir::chief
