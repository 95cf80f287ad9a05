#include "doctor/cgroup.h"

#include "doctor/amounts.h"
#include "tests/unit/doctor/expect_check.h"
#include "tests/unit/doctor/host_folder.h"

namespace weir::doctor {
namespace {

TEST(CgroupLimitsTest, Version2InAContainer) {
  HostFolder host;
  host.Write("/proc/self/cgroup", "0::/");
  host.Write("/sys/fs/cgroup/memory.max", "1073741824");
  host.Write("/sys/fs/cgroup/memory.current", "1048576");
  host.Write("/sys/fs/cgroup/cpu.max", "150000 100000");
  host.Write("/sys/fs/cgroup/pids.max", "512");
  const CgroupLimits limits = ReadCgroupLimits(host.files());
  EXPECT_TRUE(limits.readable);
  EXPECT_EQ(limits.memory_bytes, kGiB);
  EXPECT_EQ(limits.memory_used_bytes, kMiB);
  EXPECT_EQ(limits.cpus, 1.5);
  EXPECT_EQ(limits.tasks, 512);
}

TEST(CgroupLimitsTest, Version2TakesTheLowestOnTheWayUp) {
  HostFolder host;
  host.Write("/proc/self/cgroup", "0::/weir.slice/ps.service");
  host.Write("/sys/fs/cgroup/weir.slice/ps.service/memory.max", "max");
  host.Write("/sys/fs/cgroup/weir.slice/memory.max", "2048");
  host.Write("/sys/fs/cgroup/weir.slice/memory.current", "1024");
  host.Write("/sys/fs/cgroup/weir.slice/ps.service/cpu.max", "max 100000");
  host.Write("/sys/fs/cgroup/weir.slice/ps.service/pids.max", "9");
  host.Write("/sys/fs/cgroup/weir.slice/pids.max", "99");
  const CgroupLimits limits = ReadCgroupLimits(host.files());
  EXPECT_EQ(limits.memory_bytes, 2048);
  EXPECT_EQ(limits.memory_used_bytes, 1024);
  EXPECT_EQ(limits.cpus, std::nullopt);
  EXPECT_EQ(limits.tasks, 9);
}

TEST(CgroupLimitsTest, Version1) {
  HostFolder host;
  host.Write("/proc/self/cgroup",
             "8:pids:/\n4:memory:/docker/12fa\n1:cpu,cpuacct:/docker/12fa\n0::/");
  // The path is the host's: in the container its group is the root of the mount.
  host.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096");
  host.Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "100");
  host.Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000");
  host.Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  host.Write("/sys/fs/cgroup/pids/pids.max", "max");
  const CgroupLimits limits = ReadCgroupLimits(host.files());
  EXPECT_EQ(limits.memory_bytes, 4096);
  EXPECT_EQ(limits.memory_used_bytes, 100);
  EXPECT_EQ(limits.cpus, 0.5);
  EXPECT_EQ(limits.tasks, std::nullopt);
}

TEST(CgroupLimitsTest, Version1WithoutLimits) {
  HostFolder host;
  host.Write("/proc/self/cgroup", "4:memory:/a\n1:cpu:/a");
  host.Write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712");
  host.Write("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1");
  host.Write("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000");
  const CgroupLimits limits = ReadCgroupLimits(host.files());
  EXPECT_TRUE(limits.readable);
  EXPECT_EQ(limits.memory_bytes, std::nullopt);
  EXPECT_EQ(limits.cpus, std::nullopt);
}

TEST(CgroupLimitsTest, Nonsense) {
  HostFolder host;
  host.Write("/proc/self/cgroup", "x\n::\n0::nowhere/a");
  host.Write("/sys/fs/cgroup/cpu.max", "1");
  host.Write("/sys/fs/cgroup/memory.max", "-5");
  const CgroupLimits limits = ReadCgroupLimits(host.files());
  EXPECT_TRUE(limits.readable);
  EXPECT_EQ(limits.cpus, std::nullopt);
  EXPECT_EQ(limits.memory_bytes, std::nullopt);
}

TEST(CheckCgroupTest, NothingReadable) {
  HostFolder host;
  const std::vector<Check> checks = CheckCgroup(ReadCgroupLimits(host.files()), 2);
  ASSERT_EQ(checks.size(), 1);
  ExpectCheck(checks[0], Verdict::kWarn, "unknown: cannot read /proc/self/cgroup");
}

std::vector<Check> Judged(const CgroupLimits& limits) { return CheckCgroup(limits, 4); }

TEST(CheckCgroupTest, NoLimits) {
  const std::vector<Check> checks = Judged({.readable = true});
  ASSERT_EQ(checks.size(), 3);
  for (const Check& check : checks) ExpectCheck(check, Verdict::kOk, "none");
}

TEST(CheckCgroupTest, MemoryByWhatIsLeft) {
  const auto with = [](std::uint64_t limit, std::uint64_t used) {
    return Judged({.readable = true, .memory_bytes = limit, .memory_used_bytes = used})[0];
  };
  ExpectCheck(with(kGiB, 100 * kMiB), Verdict::kOk, "1 GiB for the control group, 100 MiB used");
  ExpectCheck(with(kGiB, 600 * kMiB), Verdict::kWarn, "600 MiB used");
  ExpectCheck(with(kGiB, 1000 * kMiB), Verdict::kFail, "1000 MiB used");
  ExpectCheck(with(kMiB, kGiB), Verdict::kFail, "1 MiB used");
}

TEST(CheckCgroupTest, CpuTime) {
  const auto with = [](double cpus) { return Judged({.readable = true, .cpus = cpus})[1]; };
  ExpectCheck(with(1), Verdict::kOk, "the time of 1 CPUs, on 4");
  ExpectCheck(with(0.5), Verdict::kWarn, "the time of 0.5 CPUs");
}

TEST(CheckCgroupTest, Tasks) {
  const auto with = [](std::uint64_t tasks) {
    return Judged({.readable = true, .tasks = tasks})[2];
  };
  ExpectCheck(with(4096), Verdict::kOk, "4096");
  ExpectCheck(with(100), Verdict::kWarn, "100");
  ExpectCheck(with(20), Verdict::kFail, "20");
}

}  // namespace
}  // namespace weir::doctor
