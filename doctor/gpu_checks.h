#pragma once

#include "doctor/check.h"
#include "doctor/host_files.h"
#include "doctor/ucx_view.h"

namespace weir::doctor {

/// The NVIDIA driver, and what GPUDirect RDMA needs beside it: CUDA among UCX's memory types, and a
/// way for the device to a GPU's memory. That is nvidia_peermem in the kernel, or dmabuf, of which
/// only what it needs can be seen from here, so that it is never more than possible.
Check CheckGpu(const HostFiles& files, const UcxView& ucx, bool rdma_device);

}  // namespace weir::doctor
