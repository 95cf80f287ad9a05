#include "doctor/rdma_checks.h"

#include "tests/unit/doctor/expect_check.h"
#include "tests/unit/doctor/host_folder.h"

namespace weir::doctor {
namespace {

const std::vector<std::string> kNoneInKernel;
const std::vector<std::string> kOneInKernel = {"mlx5_0"};

RdmaPort InfiniBand(int number, bool active) {
  return {.number = number,
          .active = active,
          .state = active ? "PORT_ACTIVE" : "PORT_DOWN",
          .gigabits_per_second = 200,
          .gids = {{.index = 0, .address = "fe80::1", .type = "IB"}}};
}

RdmaPort Roce(std::vector<RdmaGid> gids) {
  return {.number = 1,
          .active = true,
          .state = "PORT_ACTIVE",
          .ethernet = true,
          .gigabits_per_second = 25,
          .gids = std::move(gids)};
}

std::vector<Check> Judged(std::vector<RdmaPort> ports) {
  return CheckRdma(
      {.in_this_build = true, .devices = {{.name = "mlx5_0", .ports = std::move(ports)}}},
      kOneInKernel);
}

TEST(CheckRdmaTest, NoDeviceIsFine) {
  for (const bool in_this_build : {true, false}) {
    const auto checks = CheckRdma({.in_this_build = in_this_build}, kNoneInKernel);
    ASSERT_EQ(checks.size(), 1);
    ExpectCheck(checks[0], Verdict::kOk,
                "no RDMA device: between hosts weights travel as messages");
  }
}

TEST(CheckRdmaTest, DevicesThatCannotBeLookedAt) {
  ExpectCheck(CheckRdma({.in_this_build = false}, kOneInKernel)[0], Verdict::kWarn,
              "mlx5_0; this build cannot look");
  ExpectCheck(CheckRdma({.in_this_build = true}, kOneInKernel)[0], Verdict::kWarn,
              "the kernel has mlx5_0, libibverbs sees none");
  const RdmaDevice closed{.name = "mlx5_0", .problem = "cannot be opened: Permission denied"};
  const auto checks = CheckRdma({.in_this_build = true, .devices = {closed}}, kOneInKernel);
  ExpectCheck(checks[0], Verdict::kWarn, "Permission denied");
  ExpectCheck(Judged({})[0], Verdict::kWarn, "no port");
}

TEST(CheckRdmaTest, AnActivePort) {
  const auto checks = Judged({InfiniBand(1, true), InfiniBand(2, false)});
  ASSERT_EQ(checks.size(), 2);
  EXPECT_EQ(checks[0].name, "RDMA mlx5_0:1");
  ExpectCheck(checks[0], Verdict::kOk, "PORT_ACTIVE, InfiniBand, 200 Gb/s, GID 0 IB fe80::1");
  ExpectCheck(checks[1], Verdict::kOk, "another port is active");
}

TEST(CheckRdmaTest, NoActivePort) {
  const auto checks = Judged({InfiniBand(1, false), InfiniBand(2, false)});
  ASSERT_EQ(checks.size(), 2);
  for (const Check& check : checks) ExpectCheck(check, Verdict::kWarn, "PORT_DOWN");
  EXPECT_THAT(checks[0].fix, testing::HasSubstr("subnet manager"));
}

TEST(CheckRdmaTest, RoceNeedsVersion2) {
  const RdmaGid v1{.index = 0, .address = "fe80::1", .type = "RoCE v1", .interface = "eth1"};
  const RdmaGid v2{
      .index = 3, .address = "::ffff:10.0.0.5", .type = "RoCE v2", .interface = "eth1"};
  ExpectCheck(Judged({Roce({v1, v2})})[0], Verdict::kOk,
              "Ethernet, 25 Gb/s, GID 3 RoCE v2 10.0.0.5 on eth1, 0 RoCE v1 fe80::1 on eth1");
  ExpectCheck(Judged({Roce({v1})})[0], Verdict::kWarn, "no RoCE v2");
  ExpectCheck(Judged({Roce({})})[0], Verdict::kWarn, "no GID");
  ExpectCheck(Judged({Roce(std::vector<RdmaGid>(9, v2))})[0], Verdict::kOk, "and 5 more");
}

TEST(KernelRdmaTest, ReadsTheClass) {
  HostFolder host;
  EXPECT_TRUE(KernelRdmaDevices(host.files()).empty());
  EXPECT_FALSE(KernelHasActivePort(host.files()));
  host.Write("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
  EXPECT_THAT(KernelRdmaDevices(host.files()), testing::ElementsAre("mlx5_0"));
  EXPECT_FALSE(KernelHasActivePort(host.files()));
  host.Write("/sys/class/infiniband/mlx5_1/ports/2/state", "4: ACTIVE");
  EXPECT_TRUE(KernelHasActivePort(host.files()));
}

TEST(PortRateTest, WidthTimesSpeed) {
  EXPECT_EQ(PortGigabits(2, 32), 100);   // 4X EDR
  EXPECT_EQ(PortGigabits(2, 64), 200);   // 4X HDR
  EXPECT_EQ(PortGigabits(1, 32), 25);    // RoCE
  EXPECT_EQ(PortGigabits(16, 64), 100);  // 2X HDR
  EXPECT_EQ(PortGigabits(2, 3), 0);
  EXPECT_EQ(PortGigabits(3, 32), 0);
}

}  // namespace
}  // namespace weir::doctor
