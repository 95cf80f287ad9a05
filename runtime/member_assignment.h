#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/cluster_spec.h"

namespace weir {

inline constexpr char kMemberVariable[] = "WEIR_MEMBER";

/// What a local cluster tells each process that it starts. It travels in the environment variable
/// WEIR_MEMBER, so that any program with a job of its own can be such a process.
struct MemberAssignment {
  Task task;
  std::string chief_address;  ///< the chief's own: port 0
  int ps = 1;
  int workers = 1;
  bool evaluator = false;
  int cpu = -1;       ///< to run on alone; -1: any
  pid_t parent = 0;   ///< ends with it
  int ready_fd = -1;  ///< the port that it serves at goes here, as text and a newline

  std::vector<std::string> job_flags;  ///< ToFlags of the job's options

  /// Not empty: this worker is somebody else's program, with its arguments, and this its TF_CONFIG.
  std::vector<std::string> program;
  std::string tf_config;

  /// The variable's value, and back. Errors: kInvalidArgument (exit 2).
  std::string ToText() const;
  static absl::StatusOr<MemberAssignment> FromText(const std::string& text);

  /// The cluster as this member needs it. Addresses of others than the chief are not known to it:
  /// they come with the chief's view.
  ClusterSpec ToCluster() const;
};

/// Asks the kernel to kill this process when its parent ends, and checks that it has not yet.
/// Errors: kAborted when `parent` is gone.
absl::Status DieWithParent(pid_t parent);

}  // namespace weir
