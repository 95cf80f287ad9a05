#include "common/net/verbs/locked_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "weir/exit_code.h"

namespace weir::net {
namespace {

std::string LimitText() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return absl::StrCat(limit.rlim_cur / 1024, " KiB");
}

}  // namespace

// mlock2 asks the kernel what registering does, the limit or CAP_IPC_LOCK of the first user
// namespace; and with MLOCK_ONFAULT touches no page.
absl::Status MayLock(std::size_t bytes) {
  void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const bool may = start != MAP_FAILED && mlock2(start, bytes, MLOCK_ONFAULT) == 0;
  const int error = errno;
  if (start != MAP_FAILED) munmap(start, bytes);
  if (may) return absl::OkStatus();
  return WithExitCode(
      absl::ResourceExhaustedError(absl::StrCat(
          "an RDMA device needs locked memory, ", bytes / (1024 * 1024),
          " MiB and what is moved besides, and this process may not lock so much (",
          std::strerror(error), "; the limit is ", LimitText(),
          "): ulimit -l unlimited, or LimitMEMLOCK=infinity in the systemd unit, or docker run "
          "--ulimit memlock=-1")),
      ExitCode::kBadUsage);
}

}  // namespace weir::net
