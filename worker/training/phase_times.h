#pragma once

#include "absl/time/time.h"

namespace weir {

/// Where a worker's time went, over all of its steps. The phases follow one another on one thread;
/// what is transferred while the model computes costs nothing here but its sends.
struct PhaseTimes {
  absl::Duration data;      ///< waiting for the next batch
  absl::Duration ticket;    ///< waiting for the next step
  absl::Duration pull;      ///< waiting for weights
  absl::Duration forward;   ///< computing, until the first gradient is final
  absl::Duration backward;  ///< computing, from then on
  absl::Duration push;      ///< sending gradients, and waiting until all are applied
};

}  // namespace weir
