#include "runtime/shared_memory_room.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

constexpr char kFolder[] = "/dev/shm";
// Measured with UCX 1.13: 4.2 MiB a process, whatever the number of its peers.
constexpr std::uint64_t kBytesEach = std::uint64_t{6} << 20;

absl::Status Refused(const std::string& what) {
  return WithExitCode(
      absl::ResourceExhaustedError(
          absl::StrCat("--transport shm: ", kFolder, " ", what,
                       "; make it larger (in a container: --shm-size), or write --transport tcp")),
      ExitCode::kBadUsage);
}

}  // namespace

absl::Status CheckSharedMemoryRoom(int processes) {
  struct statvfs room {};
  if (statvfs(kFolder, &room) != 0)
    return Refused(absl::StrCat("cannot be used: ", std::strerror(errno)));
  const std::uint64_t available = std::uint64_t{room.f_bavail} * room.f_frsize;
  const std::uint64_t needed = kBytesEach * static_cast<std::uint64_t>(processes);
  if (available >= needed) return absl::OkStatus();
  constexpr double kMib = 1 << 20;
  return Refused(absl::StrFormat(
      "has %.1f MiB free, and %d %s %.0f MiB", static_cast<double>(available) / kMib, processes,
      processes == 1 ? "process needs" : "processes need", static_cast<double>(needed) / kMib));
}

}  // namespace weir
