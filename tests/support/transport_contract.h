#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "common/net/transport.h"
#include "gtest/gtest.h"

namespace weir::testing {

/// One kind of transport for the contract suite.
struct TransportKind {
  std::string name;
  /// A new transport that can reach the others of this kind; null when that fails.
  std::function<std::unique_ptr<net::Transport>()> create;
  /// Whether the end of a transport within a living process is noticed by its peers.
  bool notices_closing = true;
  /// Whether one transport's memory can be mapped by another.
  bool maps = true;
  /// Whether memory can be read from afar (Transport::Get).
  bool one_sided = false;
  /// How many come and go in the test for leaks; fewer where creating one takes long.
  int comings = 50;
};

inline std::ostream& operator<<(std::ostream& out, const TransportKind& kind) {
  return out << kind.name;
}

/// What common/net/transport.h promises, for any transport:
/// `INSTANTIATE_TEST_SUITE_P(Loopback, TransportContract, testing::Values(kind));`
class TransportContract : public ::testing::TestWithParam<TransportKind> {};

}  // namespace weir::testing
