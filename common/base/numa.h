#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weir {

/// The CPUs of each NUMA node that this thread may run on, nodes without any left out. One node
/// where the kernel tells of none. `sysfs`: the folder of node0, node1, ...
std::vector<std::vector<int>> NumaNodes(const std::string& sysfs = "/sys/devices/system/node");

/// The numbers in "0-3,8,10-11"; what is none is left out.
std::vector<int> CpusInList(absl::string_view list);

/// While it lives, the calling thread runs on `cpus` only; so do, for good, the threads that it
/// starts meanwhile. Destroy it on the same thread. Where the kernel refuses, nothing is changed.
class CpuBound {
 public:
  explicit CpuBound(const std::vector<int>& cpus);
  ~CpuBound();
  CpuBound(const CpuBound&) = delete;
  CpuBound& operator=(const CpuBound&) = delete;

 private:
  cpu_set_t before_{};
  bool bound_ = false;
};

}  // namespace weir
