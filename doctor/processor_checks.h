#pragma once

#include <span>
#include <vector>

#include "doctor/check.h"
#include "doctor/host_files.h"

namespace weir::doctor {

/// What run-time dispatch finds (the kernels of worker/nn and ps_server/optimizers).
struct CpuFeatures {
  bool avx2 = false;
  bool avx512 = false;
};
CpuFeatures CpuFeaturesHere();

/// `cpus`: those that this process may run on.
Check CheckCpu(const CpuFeatures& features, std::span<const int> cpus);

/// How the CPUs choose their frequency.
Check CheckGovernor(const HostFiles& files, std::span<const int> cpus);

/// NUMA nodes and their CPUs.
Check CheckNuma(const HostFiles& files);

}  // namespace weir::doctor
