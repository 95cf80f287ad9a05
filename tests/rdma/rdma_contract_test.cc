// The transport contract over an RDMA device: rc as weir uses it, or what UCX_TLS says ("ud_v").
// Where there is no device every case fails: scripts/rdma-vm has one.
#include <cstdlib>

#include "common/net/ucx/ucx_transport.h"
#include "gtest/gtest.h"
#include "tests/support/transport_contract.h"

namespace weir::testing {
namespace {

TransportKind OverRdma() {
  const auto create = []() -> std::unique_ptr<net::Transport> {
    auto transport = net::UcxTransport::Create({.fabric = net::UcxFabric::kRdma});
    if (!transport.ok()) {
      ADD_FAILURE() << transport.status();
      return nullptr;
    }
    return *std::move(transport);
  };
  const char* const chosen = std::getenv("UCX_TLS");
  // A device sends again for seconds before it gives a peer up.
  return {.name = chosen == nullptr ? "rc" : chosen,
          .create = create,
          .notices_closing = false,
          .maps = false,
          .comings = 15};  // each registers its receive buffers: an emulated second
}

INSTANTIATE_TEST_SUITE_P(Rdma, TransportContract, ::testing::Values(OverRdma()));

}  // namespace
}  // namespace weir::testing
