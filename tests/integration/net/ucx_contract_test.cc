// The transport contract over UCX.
#include "common/net/ucx/ucx_transport.h"
#include "gtest/gtest.h"
#include "tests/support/transport_contract.h"
#include "weir/exit_code.h"

namespace weir::testing {

TransportKind Ucx(const std::string& name, net::UcxFabric fabric) {
  net::UcxOptions options;
  options.fabric = fabric;
  options.loopback_only = true;
  const auto create = [options]() -> std::unique_ptr<net::Transport> {
    auto transport = net::UcxTransport::Create(options);
    if (!transport.ok()) {
      ADD_FAILURE() << transport.status();
      return nullptr;
    }
    return *std::move(transport);
  };
  return {name, create, /*notices_closing=*/fabric != net::UcxFabric::kShm,
          /*maps=*/fabric != net::UcxFabric::kTcp};
}

INSTANTIATE_TEST_SUITE_P(Tcp, TransportContract,
                         ::testing::Values(Ucx("tcp", net::UcxFabric::kTcp)));
INSTANTIATE_TEST_SUITE_P(TcpMapped, TransportContract,
                         ::testing::Values(Ucx("tcp mapped", net::UcxFabric::kTcpMapped)));
INSTANTIATE_TEST_SUITE_P(Shm, TransportContract,
                         ::testing::Values(Ucx("shm", net::UcxFabric::kShm)));

TEST(UcxPortRangeTest, ListensWithinItAndRefusesWhenItIsFull) {
  net::UcxOptions options;
  options.loopback_only = true;
  options.port_range = "41873-41874";
  std::vector<std::unique_ptr<net::Transport>> transports;
  absl::Status status;
  for (int i = 0; i < 3 && status.ok(); ++i) {
    auto transport = net::UcxTransport::Create(options);
    status = transport.status();
    if (transport.ok()) transports.push_back(*std::move(transport));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_LE(transports.size(), 2U);
}

TEST(UcxDevicesTest, RefusesOnesThatAreNot) {
  net::UcxOptions options;
  options.net_devices = "lo,nope0:1";
  const absl::Status status = net::UcxTransport::Create(options).status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage) << status;
  EXPECT_NE(status.message().find("\"nope0:1\""), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("it has "), absl::string_view::npos) << status;
}

TEST(UcxMemoryTest, NamesTheLimits) {
  net::UcxOptions options;
  options.loopback_only = true;
  const auto transport = *net::UcxTransport::Create(options);
  const absl::Status status = transport->Allocate(std::size_t{1} << 55).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("ulimit -l"), absl::string_view::npos) << status;
}

}  // namespace weir::testing
