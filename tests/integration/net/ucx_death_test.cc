// What a process notices when another is killed, over real UCX between two processes.
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/net/ucx/ucx_transport.h"
#include "gtest/gtest.h"
#include "tests/support/transport_node.h"
#include "tests/support/ucx_peer_process.h"

namespace weir::testing {
namespace {

using net::PeerId;
using net::SendToken;
using net::Transport;

class UcxDeathTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (std::getenv("WEIR_UCX_PEER") == nullptr) {
      GTEST_SKIP() << "WEIR_UCX_PEER does not name the ucx_peer program; run it by meson test";
    }
  }
  static std::unique_ptr<Transport> Create() {
    net::UcxOptions options;
    options.fabric = GetParam() == "shm" ? net::UcxFabric::kShm : net::UcxFabric::kTcp;
    options.loopback_only = true;
    return *net::UcxTransport::Create(options);
  }
  // A connection over which a message came back.
  static PeerId Meet(TransportNode& node, PeerProcess& process) {
    PeerId peer;
    const std::string theirs = process.ReadAddress();
    node.Run([&](Transport& t) {
      process.WriteAddress(t.address());
      peer = *t.Connect(theirs, "ucx_peer");
      t.Send(peer, 2, {}, {}, nullptr, SendToken(0));
    });
    EXPECT_TRUE(node.WaitUntil(
        [](const TransportNode::Record& record) { return record.messages.size() == 2; }));
    EXPECT_TRUE(node.WaitUntil(
        [](const TransportNode::Record& record) { return record.sent.size() == 1; }));
    return peer;
  }
  static void SendMany(TransportNode& node, PeerId peer, int count, ByteSpan payload) {
    node.Run([&](Transport& t) {
      for (int i = 1; i <= count; ++i) t.Send(peer, 2, {}, payload, nullptr, SendToken(i));
    });
  }
  static void ExpectDown(TransportNode& node, PeerId peer, std::size_t sends) {
    const absl::Time start = MonotonicNow();
    EXPECT_TRUE(
        node.WaitUntil([](const TransportNode::Record& record) { return !record.downs.empty(); }));
    EXPECT_LT(MonotonicNow() - start, absl::Seconds(5));
    EXPECT_TRUE(node.WaitUntil(
        [&](const TransportNode::Record& record) { return record.sent.size() == sends; }));
    const TransportNode::Record record = node.record();
    ASSERT_EQ(record.downs.size(), 1U);
    EXPECT_EQ(record.downs[0].first, peer);
    std::set<std::uint64_t> tokens;
    for (const auto& [token, status] : record.sent) tokens.insert(token.value());
    EXPECT_EQ(tokens.size(), sends);
    node.Run([&](Transport& t) { t.Send(peer, 2, {}, {}, nullptr, SendToken(99'999)); });
    EXPECT_TRUE(
        node.WaitUntil([&](const TransportNode::Record& r) { return r.sent.size() == sends + 1; }));
    EXPECT_EQ(node.record().sent.back().second.code(), absl::StatusCode::kUnavailable);
    node.Run([&](Transport& t) { t.Disconnect(peer); });
  }
};

TEST_P(UcxDeathTest, NoticesAKilledIdlePeer) {
  PeerProcess process({GetParam()});
  TransportNode node(Create());
  const PeerId peer = Meet(node, process);
  process.Kill();
  ExpectDown(node, peer, 1);
}

TEST_P(UcxDeathTest, ReportsTheSendsToAKilledPeer) {
  constexpr int kCount = 300;
  const std::vector<std::byte> payload(net::kMaxPayloadBytes);
  for (int round = 0; round < 3; ++round) {
    PeerProcess process({GetParam()});
    TransportNode node(Create());
    const PeerId peer = Meet(node, process);
    // Once frozen before, once in the middle of the work.
    if (round == 0) process.Freeze();
    SendMany(node, peer, kCount, payload);
    if (round == 2) {
      EXPECT_TRUE(node.WaitUntil(
          [](const TransportNode::Record& record) { return record.messages.size() >= 20; }));
    }
    process.Kill();
    ExpectDown(node, peer, kCount + 1);
  }
}

TEST_P(UcxDeathTest, LetsGoOfAFrozenPeer) {
  constexpr int kCount = 300;
  const std::vector<std::byte> payload(net::kMaxPayloadBytes);
  PeerProcess process({GetParam()});
  TransportNode node(Create());
  const PeerId peer = Meet(node, process);
  process.Freeze();
  SendMany(node, peer, kCount, payload);
  node.Run([&](Transport& t) { t.Disconnect(peer); });
  EXPECT_TRUE(node.WaitUntil(
      [](const TransportNode::Record& record) { return record.sent.size() == kCount + 1; }));
  EXPECT_TRUE(node.record().downs.empty());
}

INSTANTIATE_TEST_SUITE_P(Tcp, UcxDeathTest, ::testing::Values("tcp"));
INSTANTIATE_TEST_SUITE_P(Shm, UcxDeathTest, ::testing::Values("shm"));

}  // namespace
}  // namespace weir::testing
