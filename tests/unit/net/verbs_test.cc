#include "common/net/verbs/devices.h"
#include "common/net/verbs/usable_port.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/exit_code.h"

namespace weir::net {
namespace {

using ::testing::HasSubstr;

RdmaPort Port(int number, bool active) {
  return {.number = number, .active = active, .state = active ? "PORT_ACTIVE" : "PORT_DOWN"};
}

RdmaView Host(std::vector<RdmaDevice> devices) {
  return {.in_this_build = true, .devices = std::move(devices)};
}

std::string Refusal(const RdmaView& view, absl::string_view net_devices = "") {
  const absl::Status status = UsablePort(view, net_devices).status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage) << status;
  return std::string(status.message());
}

TEST(UsablePortTest, TheFirstActiveOneThatIsAllowed) {
  const RdmaView view = Host({{.name = "mlx5_0", .ports = {Port(1, false), Port(2, true)}},
                              {.name = "mlx5_1", .ports = {Port(1, true)}}});
  EXPECT_EQ(*UsablePort(view, ""), "mlx5_0:2");
  EXPECT_EQ(*UsablePort(view, "all"), "mlx5_0:2");
  EXPECT_EQ(*UsablePort(view, "mlx5_1"), "mlx5_1:1");
  EXPECT_EQ(*UsablePort(view, "eth0,mlx5_1:1"), "mlx5_1:1");
}

TEST(UsablePortTest, SaysWhatIsMissing) {
  EXPECT_THAT(Refusal({}), HasSubstr("no libibverbs"));
  EXPECT_THAT(Refusal(Host({})), HasSubstr("no RDMA device"));
  const RdmaView down = Host({{.name = "mlx5_0", .ports = {Port(1, false)}}});
  EXPECT_THAT(Refusal(down), HasSubstr("mlx5_0:1 is PORT_DOWN"));
  const RdmaView closed = Host({{.name = "mlx5_0", .problem = "cannot be opened: no right"}});
  EXPECT_THAT(Refusal(closed), HasSubstr("mlx5_0 cannot be opened: no right"));
}

TEST(UsablePortTest, OtherDevicesThanTheAllowedDoNotCount) {
  const RdmaView view = Host({{.name = "mlx5_0", .ports = {Port(1, false), Port(2, true)}},
                              {.name = "mlx5_1", .ports = {Port(1, true)}}});
  EXPECT_THAT(Refusal(view, "mlx5_0:1"), HasSubstr("mlx5_0:1 is PORT_DOWN"));
  EXPECT_THAT(Refusal(view, "eth0"), HasSubstr("names none of this host's RDMA devices"));
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
}  // namespace weir::net
