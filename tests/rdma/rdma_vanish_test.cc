// Peers that die in the middle of connecting over an RDMA device. Nothing tells their death but the
// device's retries, seconds later, and UCX 1.13 aborts where an endpoint is closed at the wrong
// moment: whoever stays must go on.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/net/ucx/ucx_transport.h"
#include "gtest/gtest.h"
#include "tests/support/transport_node.h"
#include "tests/support/ucx_peer_process.h"

namespace weir::testing {
namespace {

using net::PeerId;
using net::SendToken;
using net::Transport;

std::unique_ptr<Transport> OverRdma() {
  return *net::UcxTransport::Create({.fabric = net::UcxFabric::kRdma});
}

TEST(RdmaVanishTest, APeerMayDieAtAnyMomentOfConnecting) {
  ASSERT_NE(std::getenv("WEIR_UCX_PEER"), nullptr) << "it names the ucx_peer program";
  constexpr int kPeers = 12;
  constexpr std::int64_t kStepUs = 1000;  // each lives so much longer than the one before it
  TransportNode stays(OverRdma());
  std::string address;
  stays.Run([&](Transport& t) { address = t.address(); });
  for (int i = 0; i < kPeers; ++i) {
    SCOPED_TRACE(i);
    PeerProcess dies({"rdma", absl::StrCat(i * kStepUs)});
    const std::string theirs = dies.ReadAddress();
    ASSERT_FALSE(theirs.empty());
    PeerId peer;
    const auto connect = [&] {
      stays.Run([&](Transport& t) {
        peer = *t.Connect(theirs, absl::StrCat("peer ", i));
        t.Send(peer, 1, {}, {}, nullptr, SendToken(1));
      });
    };
    // Once this side is first, once the other.
    if (i % 2 == 0) connect();
    dies.WriteAddress(address);
    dies.AwaitEnd();
    if (i % 2 != 0) connect();
    // As a ps does when the chief says that a worker is lost.
    stays.Run([&](Transport& t) { t.Disconnect(peer); });
  }
  PeerProcess last({"rdma"});
  const std::string theirs = last.ReadAddress();
  const std::size_t before = stays.record().messages.size();
  stays.Run([&](Transport& t) {
    const PeerId peer = *t.Connect(theirs, "the last");
    t.Send(peer, 2, {}, {}, nullptr, SendToken(2));
  });
  last.WriteAddress(address);
  EXPECT_TRUE(stays.WaitUntil([&](const TransportNode::Record& record) {
    return record.messages.size() >= before + 2;  // its greeting, and the answer
  }));
}

}  // namespace
}  // namespace weir::testing
