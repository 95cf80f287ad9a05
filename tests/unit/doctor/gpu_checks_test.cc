#include "doctor/gpu_checks.h"

#include <vector>

#include "tests/unit/doctor/expect_check.h"
#include "tests/unit/doctor/host_folder.h"

namespace weir::doctor {
namespace {

const std::vector<std::string> kHost = {"host"};
const std::vector<std::string> kCuda = {"host", "cuda"};

TEST(GpuTest, NoDriver) {
  HostFolder host;
  ExpectCheck(CheckGpu(host.files(), kHost, false), Verdict::kWarn,
              "unknown: cannot read /proc/modules");
  host.Write("/proc/modules", "nvidia_not 1 0 - Live 0x0\next4 2 0 - Live 0x0");
  ExpectCheck(CheckGpu(host.files(), kHost, false), Verdict::kOk, "no NVIDIA driver");
}

TEST(GpuTest, GpuDirectNeedsBoth) {
  HostFolder host;
  host.Write("/proc/modules", "nvidia 1 0 - Live 0x0");
  host.Write("/sys/module/nvidia/version", "550.54.15");
  ExpectCheck(CheckGpu(host.files(), kCuda, false), Verdict::kOk,
              "NVIDIA driver 550.54.15; nvidia_peermem not loaded; UCX with CUDA");
  EXPECT_THAT(CheckGpu(host.files(), kCuda, true).fix, testing::HasSubstr("modprobe"));
  ExpectCheck(CheckGpu(host.files(), kHost, false), Verdict::kWarn, "UCX without CUDA");
  host.MakeFolder("/sys/module/nvidia_peermem");
  ExpectCheck(CheckGpu(host.files(), kCuda, true), Verdict::kOk, "nvidia_peermem loaded");
  EXPECT_THAT(CheckGpu(host.files(), kHost, true).fix,
              testing::Not(testing::HasSubstr("modprobe")));
}

}  // namespace
}  // namespace weir::doctor
