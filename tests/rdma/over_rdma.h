#pragma once

#include <cstdlib>
#include <memory>

#include "common/net/ucx/ucx_transport.h"
#include "gtest/gtest.h"
#include "tests/support/transport_contract.h"

namespace weir::testing {

/// A transport over an RDMA device; null, and the test has failed, where there is none.
inline std::unique_ptr<net::Transport> CreateOverRdma() {
  auto transport = net::UcxTransport::Create({.fabric = net::UcxFabric::kRdma});
  if (transport.ok()) return *std::move(transport);
  ADD_FAILURE() << transport.status();
  return nullptr;
}

/// rc as weir uses it, or what UCX_TLS says ("ud_v").
inline TransportKind OverRdma() {
  const char* const chosen = std::getenv("UCX_TLS");
  // A device sends again for seconds before it gives a peer up.
  return {.name = chosen == nullptr ? "rc" : chosen,
          .create = CreateOverRdma,
          .notices_closing = false,
          .maps = false,
          // ud has no reads of its own: UCX would emulate them, and Open says no.
          .one_sided = chosen == nullptr,
          .comings = 15};  // each registers its receive buffers: an emulated second
}

}  // namespace weir::testing
