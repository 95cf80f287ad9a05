#pragma once

#include "absl/status/status.h"

namespace weir {

/// Whether /dev/shm has room for `processes` that meet over shared memory: UCX keeps their queues
/// there, and what it says when it cannot names no place. Errors: exit 2, with what is free, what
/// is needed and what to do.
absl::Status CheckSharedMemoryRoom(int processes);

}  // namespace weir
