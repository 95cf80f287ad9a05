#pragma once

#include <span>
#include <string>

#include "doctor/check.h"
#include "doctor/host_files.h"

namespace weir::doctor {

/// The NVIDIA driver, and what GPUDirect RDMA needs beside it: nvidia_peermem in the kernel, CUDA
/// among UCX's memory types. `ucx_memory_types`: as UcxView has them.
Check CheckGpu(const HostFiles& files, std::span<const std::string> ucx_memory_types,
               bool rdma_device);

}  // namespace weir::doctor
