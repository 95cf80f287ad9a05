#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"

namespace weir {

/// The CPUs that this thread may run on, in order.
std::vector<int> AllowedCpus();

/// Lets the calling thread, and those that it starts, run on `cpus` (not empty) only.
/// Errors: kInvalidArgument (exit 2) for one that it may not use.
absl::Status PinToCpus(std::span<const int> cpus);
absl::Status PinToCpu(int cpu);

}  // namespace weir
