#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "weir/dataset.h"
#include "weir/model.h"
#include "worker/client/data_client.h"
#include "worker/training/phase_times.h"

namespace weir {

/// One logged step of one worker.
struct TrainingLine {
  Step step;
  float loss = 0;
  double steps_per_second = 0;  ///< of this worker, since its last line
};

struct TrainerOptions {
  std::uint64_t log_every = 100;  ///< global steps; 0: never
  std::function<void(const TrainingLine&)> log;
  std::function<bool()> interrupted;  ///< polled between steps: leave early
  std::function<void()> first_step;   ///< called once, after the first push
};

struct TrainingResult {
  enum class End { kNoStepsLeft, kNoDataLeft, kInterrupted };
  End end = End::kNoStepsLeft;
  std::uint64_t steps = 0;  ///< taken by this worker
  float final_loss = 0;     ///< of its last step
  PhaseTimes phases;
};

/// The worker's loop: take a step and the weights, compute, push; until the steps or the data end,
/// or it is interrupted between two steps. `weights` and `gradients` are the client's.
absl::StatusOr<TrainingResult> Train(const TrainerOptions& options, DataClient& client,
                                     Model& model, BatchIterator& batches, ParameterBuffer& weights,
                                     ParameterBuffer& gradients);

}  // namespace weir
