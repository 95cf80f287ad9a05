#include "doctor/memory_checks.h"

#include <limits>

#include "doctor/amounts.h"
#include "tests/unit/doctor/expect_check.h"
#include "tests/unit/doctor/host_folder.h"

namespace weir::doctor {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

TEST(LockedMemoryTest, MattersWithRdmaOnly) {
  ExpectCheck(CheckLockedMemory(kUnlimited, true), Verdict::kOk, "no limit");
  ExpectCheck(CheckLockedMemory(64 * 1024, false), Verdict::kOk, "64 KiB");
  ExpectCheck(CheckLockedMemory(64 * kMiB, true), Verdict::kWarn, "64 MiB");
  ExpectCheck(CheckLockedMemory(64 * kMiB - 1, true), Verdict::kFail, "64 MiB");
  ExpectCheck(CheckLockedMemory(8 * kMiB, true), Verdict::kFail, "8 MiB");
}

class HugePagesTest : public testing::Test {
 protected:
  Check Judged(int total, int free, const std::string& transparent) {
    host_.Write("/proc/meminfo", "MemTotal: 1 kB\nHugePages_Total: " + std::to_string(total) +
                                     "\nHugePages_Free: " + std::to_string(free) +
                                     "\nHugepagesize: 2048 kB");
    host_.Write("/sys/kernel/mm/transparent_hugepage/enabled", transparent);
    return CheckHugePages(host_.files());
  }
  HostFolder host_;
};

TEST_F(HugePagesTest, ReservedOrTransparentIsEnough) {
  ExpectCheck(Judged(80, 20, "always madvise [never]"), Verdict::kOk, "80 of 2 MiB, 20 free");
  ExpectCheck(Judged(0, 0, "always [madvise] never"), Verdict::kOk, "none reserved");
}

TEST_F(HugePagesTest, NoneOrNoneFreeIsAWarning) {
  ExpectCheck(Judged(0, 0, "always madvise [never]"), Verdict::kWarn, "none reserved");
  ExpectCheck(Judged(80, 0, "[always] madvise never"), Verdict::kWarn, "0 free");
}

TEST_F(HugePagesTest, WithoutProc) {
  ExpectCheck(CheckHugePages(host_.files()), Verdict::kWarn, "unknown: cannot read /proc/meminfo");
  host_.Write("/proc/meminfo", "MemTotal: 1 kB");
  ExpectCheck(CheckHugePages(host_.files()), Verdict::kOk, "none in this kernel");
}

TEST(SharedMemoryTest, ByFreeRoom) {
  const auto with = [](std::uint64_t free) {
    return CheckSharedMemory(FileSystemRoom{.size_bytes = kGiB, .free_bytes = free});
  };
  ExpectCheck(with(kGiB), Verdict::kOk, "1 GiB, 1 GiB free");
  ExpectCheck(with(48 * kMiB), Verdict::kOk, "48 MiB free");
  ExpectCheck(with(47 * kMiB), Verdict::kWarn, "room for 7 ps and workers");
  ExpectCheck(with(6 * kMiB - 1), Verdict::kWarn, "too little for --transport shm");
  ExpectCheck(CheckSharedMemory(std::nullopt), Verdict::kWarn, "unknown: cannot read /dev/shm");
}

TEST(SegmentsTest, TheLowerOfTheTwoCounts) {
  HostFolder host;
  ExpectCheck(CheckSegments(host.files(), 4096), Verdict::kWarn,
              "unknown: cannot read /proc/sys/kernel/shmmax");
  host.Write("/proc/sys/kernel/shmmax", "18446744073692774399");
  ExpectCheck(CheckSegments(host.files(), 4096), Verdict::kWarn,
              "unknown: cannot read /proc/sys/kernel/shmall");
  host.Write("/proc/sys/kernel/shmall", "18446744073692774399");
  ExpectCheck(CheckSegments(host.files(), 4096), Verdict::kOk,
              "a segment: no limit; all: no limit");
  host.Write("/proc/sys/kernel/shmall", "2048");
  ExpectCheck(CheckSegments(host.files(), 4096), Verdict::kWarn, "all: 8 MiB");
  host.Write("/proc/sys/kernel/shmall", "18446744073692774399");
  host.Write("/proc/sys/kernel/shmmax", "33554432");
  ExpectCheck(CheckSegments(host.files(), 4096), Verdict::kWarn, "a segment: 32 MiB");
}

}  // namespace
}  // namespace weir::doctor
