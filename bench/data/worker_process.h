#pragma once

#include "absl/status/status.h"
#include "bench/data/role_options.h"

namespace weir::bench {

/// A worker of the benchmark: the shipping client (worker/client/data_client.h), connected to each
/// shard over gRPC as in any job. Writes the path to the first ps to stdout once it is connected,
/// then does as stdin says, a line each, until that ends; each is answered with a line of Samples:
///   push   `iters` pushes of all tensors after `warm_up` more, each with a gradient that was
///          written just before, outside the timed part
///   check  one pull; counts what differs from the sum of all workers' pushes; no samples
///   pull   as many pulls, each into a buffer that was overwritten just before, and compared right
///          after, both outside the timed part
///   path   nothing; answered with the path to the first ps as it is now
///   control tcp|shm auto|eager|get TICKET
///          the control (control.h) against the responder of that ticket
/// Between push and check, and check and pull, every worker must be waited for.
absl::Status RunWorkerProcess(const RoleOptions& options);

}  // namespace weir::bench
