#include "common/net/sysv/segment.h"

#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace weir::net {
namespace {

// Not of the user's group: clusters have groups that all their users are in.
constexpr int kPermissions = S_IRUSR | S_IWUSR;
// What the usual huge page has. Less would take a whole one of those that are kept for arenas and
// gradients.
constexpr std::size_t kLeastOfHugePages = std::size_t{2} << 20;

// shmget(2): what each of its errors means for a new segment.
absl::Status NoSegment(std::size_t bytes, int error) {
  const char* const limit = error == EINVAL   ? ": more than kernel.shmmax"
                            : error == ENOSPC ? ": kernel.shmall or kernel.shmmni is reached"
                            : error == ENOMEM ? ": there is no memory for it (also of the cgroup)"
                                              : "";
  return absl::ResourceExhaustedError(absl::StrCat("creating a SysV segment of ", bytes,
                                                   " bytes: ", std::strerror(error), limit,
                                                   " (ipcs -l shows the limits)"));
}

void* AttachAnywhere(int id) {
  void* const start = shmat(id, nullptr, 0);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): that is how shmat(2) says that it failed.
  return start == reinterpret_cast<void*>(-1) ? nullptr : start;
}

// Makes every page present: a first touch later costs 100 to 300 ms for 64 MB. And a segment may be
// larger than what a memory or hugetlb cgroup grants: touching it would be SIGBUS then, and this is
// an error.
absl::Status Populate(MutableByteSpan bytes) {
  while (madvise(bytes.data(), bytes.size(), MADV_POPULATE_WRITE) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno == EINVAL) {  // Linux before 5.14
      std::memset(bytes.data(), 0, bytes.size());
      break;
    }
    return absl::ResourceExhaustedError(absl::StrCat("touching a SysV segment of ", bytes.size(),
                                                     " bytes: ", std::strerror(errno),
                                                     " (look at the limits of the memory cgroup)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Segment> Segment::Create(std::size_t bytes) {
  if (bytes < kLeastOfHugePages) return CreateOf(0, bytes);
  absl::StatusOr<Segment> huge = CreateOf(SHM_HUGETLB, bytes);
  return huge.ok() ? std::move(huge) : CreateOf(0, bytes);
}

absl::StatusOr<Segment> Segment::CreateOf(int pages, std::size_t bytes) {
  const int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | pages | kPermissions);
  if (id < 0) return NoSegment(bytes, errno);
  void* const start = AttachAnywhere(id);
  const int error = errno;
  // On Linux it can be attached by its id from now on too, until the last one lets go of it.
  shmctl(id, IPC_RMID, nullptr);
  if (start == nullptr) return NoSegment(bytes, error);
  Segment segment(id, MutableByteSpan(static_cast<std::byte*>(start), bytes));
  // Only advice, for kernels that share huge pages on request.
  madvise(start, bytes, MADV_HUGEPAGE);
  WEIR_RETURN_IF_ERROR(Populate(segment.bytes()));
  return segment;
}

absl::StatusOr<Segment> Segment::Attach(int id) {
  void* const start = AttachAnywhere(id);
  if (start == nullptr) {
    return absl::UnavailableError(absl::StrCat("attaching a SysV segment: ", std::strerror(errno)));
  }
  // Of the same one: an id is not used again while its segment is attached.
  shmid_ds facts{};
  if (shmctl(id, IPC_STAT, &facts) != 0) {
    const int error = errno;
    shmdt(start);
    return absl::UnavailableError(
        absl::StrCat("asking for the size of a SysV segment: ", std::strerror(error)));
  }
  return Segment(id, MutableByteSpan(static_cast<std::byte*>(start), facts.shm_segsz));
}

Segment::~Segment() {
  if (bytes_.data() != nullptr) shmdt(bytes_.data());
}

}  // namespace weir::net
