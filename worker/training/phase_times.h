#pragma once

#include "absl/time/time.h"

namespace weir {

/// Where a worker's time went, summed over its steps. What overlaps with computing is in none of
/// the waits: only time in which the worker did nothing else.
struct PhaseTimes {
  absl::Duration data;      ///< for the next batch
  absl::Duration pull;      ///< for a step and its weights
  absl::Duration forward;   ///< computing, until the first gradient is final
  absl::Duration backward;  ///< computing, from then on
  absl::Duration push;      ///< for the acknowledgements
};

}  // namespace weir
