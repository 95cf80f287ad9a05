#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doctor/check.h"
#include "doctor/host_files.h"

namespace weir::doctor {

/// What this process's control groups allow it; none: no limit.
struct CgroupLimits {
  bool readable = false;  ///< false: nothing is known, and the rest is empty
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> memory_used_bytes;  ///< by the group that has the limit
  std::optional<double> cpus;                      ///< time of so many CPUs
  std::optional<std::uint64_t> tasks;              ///< processes and threads
};

/// Reads version 2 and version 1 groups, also both at once. A limit is the lowest on the way from
/// the process's group to the root: an outer group binds too.
CgroupLimits ReadCgroupLimits(const HostFiles& files);

/// Three lines: memory, CPU time, tasks.
std::vector<Check> CheckCgroup(const CgroupLimits& limits, int allowed_cpus);

}  // namespace weir::doctor
