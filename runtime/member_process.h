#pragma once

#include "absl/status/statusor.h"
#include "common/config/cluster_spec.h"
#include "common/config/job_options.h"

namespace weir {

struct MemberOptions {
  ClusterSpec cluster;
  JobOptions options;
  int ready_fd = -1;  ///< where to report the port, for `weir local`; -1: nowhere
};

/// Runs the roles of one process, `cluster.self` and the one that it hosts beside, to the job's
/// end. Returns the exit code; what went wrong is in the log by then. Errors (with their exit
/// codes) are those of starting.
absl::StatusOr<int> RunMember(const MemberOptions& member);

}  // namespace weir
