#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/config/cluster_spec.h"
#include "common/config/flag_value.h"

namespace weir {

/// Which CPUs the members of a local cluster are pinned to: member i of a role to the i-th of its
/// list, again from the front when the list is shorter. Roles without a list go where the kernel
/// puts them.
struct CpuPins {
  std::map<RoleType, std::vector<int>> cpus;
  /// -1: not pinned.
  int CpuOf(const Task& task) const;
};

/// "worker=0+1,ps=2". Errors name roles that there are not and CPUs that this process may not use.
FlagValue CpuPinsValue(CpuPins& target);

}  // namespace weir
