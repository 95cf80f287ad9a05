#pragma once

#include "absl/time/time.h"

namespace weir {

/// Where a worker's time went, over all of its steps. The phases follow one another on one thread;
/// what is transferred while the model computes costs nothing here but its sends.
struct PhaseTimes {
  absl::Duration data;     ///< waiting for the next batch
  absl::Duration ticket;   ///< waiting for the next step
  absl::Duration pull;     ///< waiting for weights
  absl::Duration compute;  ///< the model, forward and backward
  absl::Duration push;     ///< sending gradients, and waiting until all are applied

  absl::Duration total() const { return data + ticket + pull + compute + push; }
};

}  // namespace weir
