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
  /// Polled between steps: leave early. DataClient::Interrupt ends the wait for a step as well.
  std::function<bool()> interrupted;
  std::function<void()> on_push;  ///< called after each acknowledged push
  /// Off: nothing is sent or awaited while the model computes. To measure what that gains.
  bool overlap = true;
};

struct TrainingResult {
  enum class End { kNoStepsLeft, kNoDataLeft, kInterrupted };
  End end = End::kNoStepsLeft;
  std::uint64_t steps = 0;  ///< taken by this worker
  float final_loss = 0;     ///< of its last step
  PhaseTimes phases;        ///< from the first batch to the last push
};

/// The worker's loop: take a step, compute while weights arrive and gradients leave; until the
/// steps or the data end, or it is interrupted. `weights` and `gradients` are the client's.
/// Errors: the client's, after which it is of no more use; the model's and the data's, likewise.
absl::StatusOr<TrainingResult> Train(const TrainerOptions& options, DataClient& client,
                                     Model& model, BatchIterator& batches, ParameterBuffer& weights,
                                     ParameterBuffer& gradients);

}  // namespace weir
