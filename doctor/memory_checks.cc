#include "doctor/memory_checks.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "doctor/amounts.h"

namespace weir::doctor {
namespace {

// Below this not even the buffers of a small model can be registered.
constexpr std::uint64_t kLeastLocked = 64 * kMiB;
// What each ps and worker takes of /dev/shm (docs/operations.md, limits of the host).
constexpr std::uint64_t kShmOfATask = 6 * kMiB;
// A chief's few tasks on one host; a container's usual 64 MiB is just enough.
constexpr std::uint64_t kShmOfAFewTasks = 8 * kShmOfATask;
// Kernels before 3.16 had 32 MiB here.
constexpr std::uint64_t kLeastSegments = kGiB;

std::string Limit(std::uint64_t bytes) {
  // The kernel's "no limit" is a number a little below 2^64.
  return bytes >= std::numeric_limits<std::uint64_t>::max() / 4 ? "no limit" : Bytes(bytes);
}

}  // namespace

Check CheckLockedMemory(std::uint64_t soft_limit_bytes, bool rdma_device) {
  constexpr char kName[] = "locked memory";
  const std::string limit = Limit(soft_limit_bytes);
  if (soft_limit_bytes == std::numeric_limits<std::uint64_t>::max()) return Ok(kName, limit);
  if (!rdma_device) return Ok(kName, absl::StrCat(limit, "; none is needed without RDMA"));
  const std::string found = absl::StrCat(limit, ", and RDMA pins what it moves");
  constexpr char kFix[] =
      "ulimit -l unlimited; LimitMEMLOCK=infinity (systemd); --ulimit memlock=-1 (Docker)";
  return soft_limit_bytes < kLeastLocked ? Fail(kName, found, kFix) : Warn(kName, found, kFix);
}

Check CheckHugePages(const HostFiles& files) {
  constexpr char kName[] = "huge pages";
  const std::optional<std::string> meminfo = files.Text("/proc/meminfo");
  if (!meminfo.has_value()) return Unknown(kName, "/proc/meminfo");
  const std::optional<std::uint64_t> total = NumberOf(*meminfo, "HugePages_Total");
  if (!total.has_value()) return Ok(kName, "none in this kernel");
  const std::uint64_t free = NumberOf(*meminfo, "HugePages_Free").value_or(0);
  const std::uint64_t page = NumberOf(*meminfo, "Hugepagesize").value_or(2048) * 1024;
  const std::optional<std::string> thp = files.Text("/sys/kernel/mm/transparent_hugepage/enabled");
  const bool never = thp.has_value() && absl::StrContains(*thp, "[never]");
  const std::string transparent = !thp.has_value() ? ""
                                  : never          ? "; transparent: never"
                                                   : "; transparent: on";
  const std::string found =
      *total == 0 ? absl::StrCat("none reserved", transparent)
                  : absl::StrCat(*total, " of ", Bytes(page), ", ", free, " free", transparent);
  if (*total > 0 && free == 0) {
    return Warn(kName, found, "raise vm.nr_hugepages, or stop who holds them");
  }
  if (*total == 0 && never) {
    return Warn(kName, found,
                "for large weights: sysctl vm.nr_hugepages=N, or write madvise to "
                "/sys/kernel/mm/transparent_hugepage/enabled");
  }
  return Ok(kName, found);
}

Check CheckSharedMemory(std::optional<FileSystemRoom> room) {
  constexpr char kName[] = "/dev/shm";
  if (!room.has_value()) return Unknown(kName, kName);
  const std::string found =
      absl::StrCat(Bytes(room->size_bytes), ", ", Bytes(room->free_bytes), " free");
  constexpr char kFix[] =
      "mount -o remount,size=1g /dev/shm; --shm-size=1g (Docker); an emptyDir "
      "of medium Memory (Kubernetes); or stay with --transport tcp";
  if (room->free_bytes < kShmOfATask) {
    return Warn(kName, absl::StrCat(found, ": too little for --transport shm"), kFix);
  }
  if (room->free_bytes < kShmOfAFewTasks) {
    return Warn(kName,
                absl::StrCat(found, ": with --transport shm, room for ",
                             room->free_bytes / kShmOfATask, " ps and workers"),
                kFix);
  }
  return Ok(kName, found);
}

Check CheckSegments(const HostFiles& files, std::uint64_t page_bytes) {
  constexpr char kName[] = "SysV shared memory";
  constexpr char kMax[] = "/proc/sys/kernel/shmmax";
  constexpr char kAll[] = "/proc/sys/kernel/shmall";
  const auto max = Number(files.Text(kMax).value_or(""));
  if (!max.has_value()) return Unknown(kName, kMax);
  const auto pages = Number(files.Text(kAll).value_or(""));
  if (!pages.has_value()) return Unknown(kName, kAll);
  const std::uint64_t all = *pages > std::numeric_limits<std::uint64_t>::max() / page_bytes
                                ? std::numeric_limits<std::uint64_t>::max()
                                : *pages * page_bytes;
  const std::string found = absl::StrCat("a segment: ", Limit(*max), "; all: ", Limit(all));
  if (std::min(*max, all) >= kLeastSegments) return Ok(kName, found);
  return Warn(kName, absl::StrCat(found, ": --transport shm keeps a ps's weights there"),
              "sysctl kernel.shmmax=BYTES kernel.shmall=PAGES, above the size of the model");
}

}  // namespace weir::doctor
