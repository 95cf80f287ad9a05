#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "common/net/transport.h"
#include "gtest/gtest.h"
#include "tests/support/transport_contract.h"
#include "tests/support/transport_node.h"

namespace weir::testing {

inline std::vector<std::byte> Pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  std::minstd_rand random(seed + 1);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8);
  return bytes;
}

/// Two transports that know each other.
struct TransportPair {
  explicit TransportPair(const TransportKind& kind) : a(kind.create()), b(kind.create()) {
    std::string address_a;
    std::string address_b;
    a.Run([&](net::Transport& transport) { address_a = transport.address(); });
    b.Run([&](net::Transport& transport) { address_b = transport.address(); });
    a.Run([&](net::Transport& transport) { to_b = *transport.Connect(address_b, "b"); });
    b.Run([&](net::Transport& transport) { to_a = *transport.Connect(address_a, "a"); });
  }

  /// Until both ways have carried a message. Uses tokens from 1'000'000 on.
  void Greet() {
    using net::SendToken;
    a.Run([&](net::Transport& t) { t.Send(to_b, 1, {}, {}, nullptr, SendToken(1'000'000)); });
    b.Run([&](net::Transport& t) { t.Send(to_a, 1, {}, {}, nullptr, SendToken(1'000'000)); });
    const auto greeted = [](const TransportNode::Record& record) {
      return record.messages.size() == 1 && record.sent.size() == 1;
    };
    ASSERT_TRUE(a.WaitUntil(greeted));
    ASSERT_TRUE(b.WaitUntil(greeted));
  }

  TransportNode a;
  TransportNode b;
  net::PeerId to_b;
  net::PeerId to_a;
};

}  // namespace weir::testing
