#include "doctor/processor_checks.h"

#include <array>

#include "doctor/clock_checks.h"
#include "tests/unit/doctor/expect_check.h"
#include "tests/unit/doctor/host_folder.h"

namespace weir::doctor {
namespace {

constexpr std::array kCpus = {0, 3};

TEST(CpuTest, Features) {
  ExpectCheck(CheckCpu({.avx2 = true, .avx512 = true}, kCpus), Verdict::kOk, "AVX-512");
  ExpectCheck(CheckCpu({.avx2 = true}, kCpus), Verdict::kOk, "2 for this process, AVX2");
  ExpectCheck(CheckCpu({}, kCpus), Verdict::kWarn, "no AVX2");
}

TEST(GovernorTest, OfTheAllowedCpusOnly) {
  HostFolder host;
  ExpectCheck(CheckGovernor(host.files(), kCpus), Verdict::kWarn, "unknown: cannot read");
  host.MakeFolder("/sys/devices/system/cpu");
  ExpectCheck(CheckGovernor(host.files(), kCpus), Verdict::kOk, "none");
  host.Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
  host.Write("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave");
  host.Write("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance");
  ExpectCheck(CheckGovernor(host.files(), kCpus), Verdict::kOk, "performance on 2 CPUs");
  host.Write("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave");
  ExpectCheck(CheckGovernor(host.files(), kCpus), Verdict::kWarn,
              "performance on 1 CPU, powersave on 1 CPU");
}

TEST(NumaTest, CountsNodes) {
  HostFolder host;
  ExpectCheck(CheckNuma(host.files()), Verdict::kWarn, "unknown: cannot read");
  host.Write("/sys/devices/system/node/online", "0-1");
  ExpectCheck(CheckNuma(host.files()), Verdict::kOk, "1 node");
  host.Write("/sys/devices/system/node/node0/cpulist", "0-31");
  ExpectCheck(CheckNuma(host.files()), Verdict::kOk, "1 node");
  host.Write("/sys/devices/system/node/node1/cpulist", "32-63");
  host.Write("/sys/devices/system/node/nodes", "");
  ExpectCheck(CheckNuma(host.files()), Verdict::kOk, "2 nodes (0: CPUs 0-31; 1: CPUs 32-63)");
}

TEST(ClockTest, Source) {
  ExpectCheck(CheckClockSource("tsc"), Verdict::kOk, "tsc");
  ExpectCheck(CheckClockSource("kvm-clock"), Verdict::kOk, "kvm-clock");
  ExpectCheck(CheckClockSource("hpet"), Verdict::kWarn, "hpet");
  ExpectCheck(CheckClockSource(std::nullopt), Verdict::kWarn, "unknown: cannot read /sys");
}

TEST(ClockTest, Synchronised) {
  ExpectCheck(CheckClock(true), Verdict::kOk, "synchronised");
  ExpectCheck(CheckClock(false), Verdict::kWarn, "not synchronised");
  ExpectCheck(CheckClock(std::nullopt), Verdict::kWarn, "unknown: cannot read");
}

}  // namespace
}  // namespace weir::doctor
