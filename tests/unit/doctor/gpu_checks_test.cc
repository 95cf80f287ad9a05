#include "doctor/gpu_checks.h"

#include <string>

#include "tests/unit/doctor/expect_check.h"
#include "tests/unit/doctor/host_folder.h"

namespace weir::doctor {
namespace {

const UcxView kHost = {.version = "1.13.1", .memory_types = {"host"}};
const UcxView kCuda = {.version = "1.13.1", .memory_types = {"host", "cuda"}};

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

class DmabufTest : public testing::Test {
 protected:
  DmabufTest() {
    host_.Write("/proc/modules", "nvidia 1 0 - Live 0x0");
    host_.Write("/sys/module/nvidia/version", "550.54.15");
  }
  Check Judged(const std::string& kernel, bool open_modules, const std::string& ucx) {
    host_.Write("/proc/sys/kernel/osrelease", kernel);
    host_.Write("/proc/driver/nvidia/version",
                open_modules ? "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15"
                             : "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15");
    UcxView view = kCuda;
    view.version = ucx;
    return CheckGpu(host_.files(), view, true);
  }
  HostFolder host_;
};

TEST_F(DmabufTest, DoesWithoutNvidiaPeermemWhereAllIsNewEnough) {
  for (const char* kernel : {"5.12.0", "6.1.0-18-amd64", "10.0"}) {
    const Check check = Judged(kernel, true, "1.14.0");
    ExpectCheck(check, Verdict::kWarn, "GPUDirect only by dmabuf, if UCX");
    EXPECT_THAT(check.fix, testing::HasSubstr("ucx_info -d"));
    EXPECT_THAT(check.fix, testing::HasSubstr("modprobe nvidia_peermem"));
  }
  host_.MakeFolder("/sys/module/nvidia_peermem");
  ExpectCheck(Judged("6.1", true, "2.0.0"), Verdict::kOk, "nvidia_peermem loaded");
}

TEST_F(DmabufTest, WhatIsTooOldIsNamed) {
  const auto expect_missing = [](const Check& check, const std::string& list) {
    ExpectCheck(check, Verdict::kWarn, "no GPUDirect");
    EXPECT_EQ(
        check.fix,
        "for weights in GPU memory: modprobe nvidia_peermem; or, for dmabuf instead, " + list);
  };
  expect_missing(Judged("6.1.0-18-amd64", true, "1.13.1"), "UCX 1.14 or newer (this is 1.13.1)");
  expect_missing(Judged("5.10.0-28-amd64", true, "1.14.0"),
                 "Linux 5.12 or newer (this is 5.10.0-28-amd64)");
  expect_missing(Judged("6.1", false, "1.22.0"), "NVIDIA's open kernel modules");
  expect_missing(Judged("what", false, ""),
                 "Linux 5.12 or newer (this is what), NVIDIA's open kernel modules, UCX 1.14 or "
                 "newer (this is )");
}

TEST_F(DmabufTest, MattersWithAnRdmaDeviceAndCudaOnly) {
  Judged("6.1", true, "1.14.0");
  ExpectCheck(CheckGpu(host_.files(), kCuda, false), Verdict::kOk, "nvidia_peermem not loaded");
  UcxView view = kHost;
  view.version = "1.14.0";
  ExpectCheck(CheckGpu(host_.files(), view, true), Verdict::kWarn,
              "UCX without CUDA: no GPUDirect");
}

}  // namespace
}  // namespace weir::doctor
