#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace weir::bench {

/// One size on so many threads at once.
struct ApplyRun {
  std::uint64_t size = 0;  ///< bytes of each thread's tensor
  std::vector<int> cpus;   ///< one a thread, which is pinned to it
  std::uint64_t iters = 1;
};

/// Times of one thread, in nanoseconds.
struct ApplyTimes {
  std::vector<std::uint64_t> sgd;    ///< the shipping kernel (ps_server/optimizers/sgd.h)
  std::vector<std::uint64_t> triad;  ///< the plain loop (triad.h) over arrays of the same length
  std::uint64_t wrong = 0;           ///< weights that are not what the updates add up to
};

/// Runs both loops in turn, in rounds that all threads begin together, each over memory of its
/// own; the kernel block by block, as a shard does. Returns each thread's times.
/// Errors: kInvalidArgument (exit 2) for a CPU that this process may not use; kResourceExhausted
/// where there is no memory: 12 bytes an element and thread.
absl::StatusOr<std::vector<ApplyTimes>> TimeApply(const ApplyRun& run);

}  // namespace weir::bench
