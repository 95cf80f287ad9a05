#pragma once

#include "absl/time/time.h"

namespace weir {

/// Monotonic time as an absl::Time whose epoch means nothing: for deadlines, leases and rates.
/// Code under logic/ never calls this; it is given `now`.
absl::Time MonotonicNow();

}  // namespace weir
