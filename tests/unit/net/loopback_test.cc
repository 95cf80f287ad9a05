#include "common/net/loopback.h"

#include "gtest/gtest.h"
#include "tests/support/transport_contract.h"

namespace weir::testing {

TransportKind Loopback() {
  // A small inbox, so that it is full now and then.
  auto fabric = net::LoopbackFabric::Create(/*inbox_capacity=*/32);
  return {.name = "loopback",
          .create = [fabric] { return fabric->CreateTransport(); },
          .one_sided = true};
}

INSTANTIATE_TEST_SUITE_P(Loopback, TransportContract, ::testing::Values(Loopback()));

}  // namespace weir::testing
