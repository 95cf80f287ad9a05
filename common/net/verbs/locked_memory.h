#pragma once

#include <cstddef>

#include "absl/status/status.h"

namespace weir::net {

/// Ok when this process may lock `bytes` more memory, as registering it with an RDMA device does.
/// To be asked before UCX is: with too little, UCX 1.13 tries to fill its receive queues for ever,
/// with two lines in the log at each attempt.
/// Errors: kResourceExhausted (exit 2) naming the limit.
absl::Status MayLock(std::size_t bytes);

}  // namespace weir::net
