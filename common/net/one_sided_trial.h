#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/net/transport.h"

namespace weir::net {

/// Finds out whether one-sided reads work over the fabric of `transport` (of this thread, without
/// peers), by reading this process's own memory through a connection to itself. The transport is
/// destroyed then. Errors: what failed, or kDeadlineExceeded after `limit`.
absl::Status TryOneSidedRead(std::unique_ptr<Transport> transport, absl::Duration limit);

}  // namespace weir::net
