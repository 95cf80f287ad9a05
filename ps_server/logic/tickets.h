#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "common/base/ids.h"

namespace weir::ps {

/// The step counter: hands out each step of (start, max] to one worker at a time, takes back those
/// of workers that died or gave up, and counts completions. A job ends at exactly `max`.
class Tickets {
 public:
  Tickets(Step start, Step max, int max_workers);

  /// A step for `worker`, which must hold none; the lowest that was given back, else the next new
  /// one. Empty while every remaining step is held by others, and once stopped or finished.
  std::optional<Step> Take(WorkerIndex worker);
  /// The worker's step is done. False if it does not hold `step`.
  bool Complete(WorkerIndex worker, Step step);
  /// Takes back what `worker` holds, for others to do.
  void GiveBack(WorkerIndex worker);
  void Stop() { stopped_ = true; }

  std::optional<Step> held_by(WorkerIndex worker) const { return held_[worker.value()]; }
  /// start + completed steps.
  Step global_step() const { return Step(start_.value() + completed_); }
  bool finished() const { return global_step() >= max_; }
  bool stopped() const { return stopped_; }

 private:
  const Step start_;
  const Step max_;
  Step next_;
  std::uint64_t completed_ = 0;
  bool stopped_ = false;
  std::set<Step> returned_;
  std::vector<std::optional<Step>> held_;
};

}  // namespace weir::ps
