#pragma once

#include <grpc/support/time.h>

#include "absl/time/time.h"

namespace weir::rpc {

/// Sends gRPC's own log to ours and turns on the health service. Call before anything of gRPC;
/// any number of times, from any thread.
void SetUpGrpc();

/// The deadline `timeout` from now, on the monotonic clock; at most a year away.
gpr_timespec DeadlineAfter(absl::Duration timeout);

}  // namespace weir::rpc
