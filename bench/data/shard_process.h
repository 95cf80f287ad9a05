#pragma once

#include "absl/status/status.h"
#include "bench/data/role_options.h"

namespace weir::bench {

/// A ps of the benchmark: the shipping server (ps_server/server.h) behind the shipping gRPC
/// service, in a cluster without a chief, whose one view both sides know. Writes "PORT" and a
/// newline to stdout once it serves, then does as stdin says, a word a line, until that ends:
///   control   answers the raw UCX of the first worker (control.h) on this thread, while the shard
///             sleeps, until there is another word; writes its ticket
///   rest      nothing; writes an empty line
absl::Status RunShardProcess(const RoleOptions& options);

}  // namespace weir::bench
