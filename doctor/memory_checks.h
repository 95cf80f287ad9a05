#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "doctor/check.h"
#include "doctor/host_files.h"

namespace weir::doctor {

/// How much a process may pin (RLIMIT_MEMLOCK). RDMA pins the weights and the workers' buffers, so
/// with a device here little is a fail; without one nothing is pinned.
Check CheckLockedMemory(std::uint64_t soft_limit_bytes, bool rdma_device);

/// Reserved and transparent huge pages: first touches of large weights are quicker with either.
Check CheckHugePages(const HostFiles& files);

struct FileSystemRoom {
  std::uint64_t size_bytes = 0;
  std::uint64_t free_bytes = 0;
};

/// /dev/shm, where `--transport shm` keeps the queues between processes.
Check CheckSharedMemory(std::optional<FileSystemRoom> room);

/// kernel.shmmax and kernel.shmall, which bound the segments that hold the weights then.
Check CheckSegments(const HostFiles& files, std::uint64_t page_bytes);

}  // namespace weir::doctor
