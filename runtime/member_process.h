#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "common/config/cluster_spec.h"
#include "common/config/job_options.h"
#include "runtime/member_assignment.h"
#include "weir/job.h"

namespace weir {

struct MemberOptions {
  const Job* job = nullptr;
  bool tensors_only = false;  ///< no role of `weir` can train or evaluate the job
  ClusterSpec cluster;
  JobOptions options;
  int ready_fd = -1;  ///< where to report the port, for `weir local`; -1: nowhere
};

/// Runs the roles of one process, `cluster.self` and the one that it hosts beside, to the job's
/// end. Returns the exit code; what went wrong is in the log by then. Errors (with their exit
/// codes) are those of starting.
absl::StatusOr<int> RunMember(const MemberOptions& member);

/// What WEIR_MEMBER says, where this process is a member of a local cluster. One that is to be
/// another program becomes it here, and does not return. Errors: exit 2; the parent is gone.
absl::StatusOr<std::optional<MemberAssignment>> AssignedMember();
/// Runs the assigned member; its flags are the whole job. `tensors_only` as in MemberOptions.
absl::StatusOr<int> RunAssignedMember(const MemberAssignment& assignment, const Job& job,
                                      bool tensors_only = false);

}  // namespace weir
