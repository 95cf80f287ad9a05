#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/cluster_spec.h"

namespace weir {

/// What `weir local` tells each process that it starts (the hidden command `weir member`).
struct MemberAssignment {
  Task task;
  std::string chief_address;  ///< the chief's own: port 0
  int ps = 1;
  int workers = 1;
  bool evaluator = false;
  pid_t parent = 0;   ///< ends with it
  int ready_fd = -1;  ///< the port that it serves at goes here, as text and a newline

  std::vector<std::string> ToArguments() const;
  /// Reads what ToArguments wrote from the front of `arguments`. Errors: kInvalidArgument.
  static absl::StatusOr<MemberAssignment> FromArguments(std::span<const std::string> arguments);
  static constexpr std::size_t kArguments = 8;

  /// The cluster as this member needs it. Addresses of others than the chief are not known to it:
  /// they come with the chief's view.
  ClusterSpec ToCluster() const;
};

/// Asks the kernel to kill this process when its parent ends, and checks that it has not yet.
/// Errors: kAborted when `parent` is gone.
absl::Status DieWithParent(pid_t parent);

}  // namespace weir
