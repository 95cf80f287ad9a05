#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/member_assignment.h"

namespace weir {

/// What a program of somebody's own is told of the local cluster that it is a worker of.
struct ProgramCluster {
  std::string chief;
  std::vector<std::string> ps;
  std::vector<std::string> workers;

  /// TF_CONFIG's text for worker `index`.
  std::string TfConfigFor(int index) const;
};

/// Addresses on this host that nobody listens at now, all different. Programs that use weir::Client
/// serve nothing there; TF_CONFIG wants each worker to have one.
absl::StatusOr<std::vector<std::string>> FreeAddresses(int count);

/// Turns this process, which is a member of a local cluster, into the program that the assignment
/// names. Returns only where it cannot: kNotFound (exit 2).
absl::Status BecomeProgram(const MemberAssignment& assignment);

}  // namespace weir
