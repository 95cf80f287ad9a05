#pragma once

#include <grpc/support/time.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace weir::rpc {

/// Sends gRPC's own log to ours and turns on the health service. Call before anything of gRPC;
/// any number of times, from any thread.
void SetUpGrpc();

/// The deadline `timeout` from now, on the monotonic clock; at most a year away.
gpr_timespec DeadlineAfter(absl::Duration timeout);

/// Channel arguments, for both sides, that let a stream be cancelled while its peer is frozen.
/// A cancelled Write only returns once the bytes that gRPC gave to the kernel are gone, which takes
/// for ever when the peer's socket is full. So a peer's window stays at 64 KiB, which sockets hold
/// (without the bandwidth probe that widens it): a Write to a frozen peer then waits in gRPC, where
/// cancelling frees it. Where a larger message was under way, TCP gives up after a few seconds.
std::vector<std::pair<std::string, int>> FrozenPeerArguments();

}  // namespace weir::rpc
