// Peers that come and vanish at every moment of connecting; whoever stays must not notice more than
// that they are down.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/net/ucx/ucx_transport.h"
#include "gtest/gtest.h"
#include "tests/support/transport_node.h"

namespace weir::testing {
namespace {

using net::PeerId;
using net::SendToken;
using net::Transport;

class Deaf : public net::TransportEvents {
 public:
  void OnMessage(std::uint8_t, ByteSpan, ByteSpan) override {}
  void OnSent(SendToken, const absl::Status&) override {}
  void OnPeerDown(PeerId, const absl::Status&) override {}
};

class UcxVanishTest : public ::testing::TestWithParam<net::UcxFabric> {
 protected:
  static std::unique_ptr<Transport> Create() {
    net::UcxOptions options;
    options.fabric = GetParam();
    options.loopback_only = true;
    return *net::UcxTransport::Create(options);
  }
};

TEST_P(UcxVanishTest, APeerMayVanishAtAnyMomentOfConnecting) {
  // Each vanishes one round of Progress later than the one before it; most connect within ten.
  constexpr int kPeers = 100;
  constexpr int kMoments = 25;
  // To and from every third peer, which is more than its socket holds; else one.
  constexpr int kMany = 40;
  constexpr std::uint8_t kFinal = 9;
  const std::vector<std::byte> block(net::kMaxPayloadBytes);
  std::atomic<bool> arrived = false;
  TransportNode stays(Create());
  stays.SetHooks([&](Transport&, std::uint8_t type, ByteSpan,
                     ByteSpan) { arrived = arrived || type == kFinal; },
                 {});
  std::string address;
  stays.Run([&](Transport& t) { address = t.address(); });
  for (int i = 0; i < kPeers; ++i) {
    Deaf events;
    std::unique_ptr<Transport> vanishes = Create();
    const PeerId ours = *vanishes->Connect(address, "the one that stays");
    const int blocks = i % 3 == 0 ? kMany : 1;
    PeerId theirs;
    stays.Run([&](Transport& t) {
      theirs = *t.Connect(vanishes->address(), absl::StrCat("peer ", i));
      for (int b = 0; b < blocks; ++b) t.Send(theirs, 1, {}, block, nullptr, SendToken(1));
    });
    for (int b = 0; b < blocks; ++b) vanishes->Send(ours, 1, {}, block, nullptr, SendToken(1));
    for (int round = 0; round < i % kMoments; ++round) vanishes->Progress(events);
    vanishes.reset();
    if (i % 2 == 0) stays.Run([&](Transport& t) { t.Disconnect(theirs); });
  }
  // It still works.
  Deaf events;
  const std::unique_ptr<Transport> last = Create();
  const PeerId ours = *last->Connect(address, "the one that stays");
  last->Send(ours, kFinal, {}, block, nullptr, SendToken(1));
  const absl::Time end = MonotonicNow() + absl::Seconds(20);
  while (!arrived && MonotonicNow() < end) {
    if (!last->Progress(events)) last->Wait(absl::Milliseconds(5));
  }
  EXPECT_TRUE(arrived);
}

INSTANTIATE_TEST_SUITE_P(Tcp, UcxVanishTest, ::testing::Values(net::UcxFabric::kTcp));
INSTANTIATE_TEST_SUITE_P(Shm, UcxVanishTest, ::testing::Values(net::UcxFabric::kShm));

}  // namespace
}  // namespace weir::testing
