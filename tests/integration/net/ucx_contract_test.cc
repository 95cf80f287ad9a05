// The transport contract over UCX.
#include "common/net/ucx/ucx_transport.h"
#include "gtest/gtest.h"
#include "tests/support/transport_contract.h"

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
  return {name, create, /*notices_closing=*/fabric == net::UcxFabric::kTcp};
}

INSTANTIATE_TEST_SUITE_P(Tcp, TransportContract,
                         ::testing::Values(Ucx("tcp", net::UcxFabric::kTcp)));
INSTANTIATE_TEST_SUITE_P(Shm, TransportContract,
                         ::testing::Values(Ucx("shm", net::UcxFabric::kShm)));

}  // namespace weir::testing
