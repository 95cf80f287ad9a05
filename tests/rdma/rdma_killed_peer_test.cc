// A peer's process is killed while it is read from, or sent to. The device goes on trying for
// seconds; the owner of the transport, which learns of the death elsewhere (by the end of a session
// with the ps), disconnects, and that ends everything at once.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "gtest/gtest.h"
#include "tests/rdma/over_rdma.h"
#include "tests/rdma/peer_process.h"
#include "tests/support/transport_node.h"

namespace weir::testing {
namespace {

using net::GetToken;
using net::PeerId;
using net::SendToken;
using net::Transport;

constexpr absl::Duration kLimit = absl::Seconds(2);
constexpr std::uint64_t kMost = 10'000;  // operations; far fewer are started

enum class Operation { kGet, kSend };

void PrintTo(Operation operation, std::ostream* out) {
  *out << (operation == Operation::kGet ? "Get" : "Send");
}

// A stream of messages to a peer that lives, beside all that.
class OtherTraffic {
 public:
  static constexpr std::uint64_t kTokens = 1'000'000;  // from here on

  OtherTraffic(TransportNode& from, TransportNode& to) : from_(from), to_(to), payload_(16 * 1024) {
    std::string address;
    to.Run([&](Transport& t) { address = t.address(); });
    from.SetHooks(nullptr, [this](Transport& t, SendToken token, const absl::Status& status) {
      if (token.value() >= kTokens && status.ok() && !ended_) SendNext(t);
    });
    from.Run([&](Transport& t) {
      peer_ = *t.Connect(address, "other");
      SendNext(t);
    });
  }
  PeerId peer() const { return peer_; }
  // Whether another ten messages of it are sent from now on.
  bool GoesOn() {
    const std::size_t wanted = Sent(from_.record()) + 10;
    return from_.WaitUntil([&](const auto& record) { return Sent(record) >= wanted; });
  }
  // Whether all of it went well, and arrived.
  bool EndsWell() {
    from_.Run([this](Transport&) { ended_ = true; });
    return from_.WaitUntil([this](const auto& record) { return Sent(record) == next_; }) &&
           to_.WaitUntil([this](const auto& record) { return record.messages.size() == next_; });
  }

 private:
  static std::size_t Sent(const TransportNode::Record& record) {
    return static_cast<std::size_t>(std::ranges::count_if(record.sent, [](const auto& sent) {
      return sent.first.value() >= kTokens && sent.second.ok();
    }));
  }
  void SendNext(Transport& t) {
    t.Send(peer_, 2, {}, payload_, nullptr, SendToken(kTokens + next_++));
  }

  TransportNode& from_;
  TransportNode& to_;
  const std::vector<std::byte> payload_;
  PeerId peer_;
  std::atomic<std::uint64_t> next_{0};
  bool ended_ = false;  // of from_'s thread
};

class RdmaKilledPeerTest : public ::testing::TestWithParam<Operation> {
 protected:
  bool reads() const { return GetParam() == Operation::kGet; }

  // The outcomes of tokens up to kMost, in the order in which they were reported.
  std::vector<absl::Status> Outcomes(const TransportNode::Record& record) const {
    std::vector<absl::Status> outcomes;
    std::set<std::uint64_t> tokens;
    const auto add = [&](std::uint64_t token, const absl::Status& status) {
      if (token > kMost) return;
      EXPECT_TRUE(tokens.insert(token).second) << token << " was reported twice";
      outcomes.push_back(status);
    };
    for (const auto& [token, status] : record.got) add(token.value(), status);
    for (const auto& [token, status] : record.sent) add(token.value(), status);
    return outcomes;
  }
};

TEST_P(RdmaKilledPeerTest, EndsWhatIsUnderWayToItAlone) {
  if (reads() && !OverRdma().one_sided) GTEST_SKIP() << "this fabric has no one-sided reads";
  PeerProcess lost;
  ASSERT_FALSE(lost.address().empty());
  std::unique_ptr<net::Memory> memory;  // may outlive its transport
  std::unique_ptr<net::RemoteMemory> remote;
  TransportNode other(CreateOverRdma());
  TransportNode node(CreateOverRdma());
  OtherTraffic traffic(node, other);
  PeerId peer;
  const auto start = [&](Transport& t, std::uint64_t i) {
    if (reads()) return t.Get(*remote, 0, memory->bytes(), *memory, GetToken(i));
    const ByteSpan payload = memory->bytes().first(net::kMaxPayloadBytes);
    t.Send(peer, 1, {}, payload, memory.get(), SendToken(i));
  };
  node.Run([&](Transport& t) {
    peer = *t.Connect(lost.address(), "lost");
    memory = *t.Allocate(PeerProcess::kMemoryBytes);
    if (reads()) {
      auto opened = t.Open(peer, lost.memory_key(), memory->bytes().size());
      ASSERT_TRUE(opened.ok()) << opened.status();
      remote = *std::move(opened);
    }
    start(t, 1);
  });
  // A few at a time, until the process is gone, and some more then: soft-RoCE moves a good part of
  // the bytes while an operation is started, so that many at once would be over before.
  std::atomic<bool> gone{false};
  absl::Time killed;
  auto killer = std::async(std::launch::async, [&] {
    EXPECT_TRUE(node.WaitUntil([&](const auto& record) { return Outcomes(record).size() >= 10; }));
    killed = MonotonicNow();
    lost.Kill();
    gone = true;
  });
  std::uint64_t count = 1;
  const auto start_next = [&] { node.Run([&](Transport& t) { start(t, ++count); }); };
  while (!gone && count < kMost) {
    start_next();
    // The other traffic makes it look at `gone`.
    EXPECT_TRUE(node.WaitUntil(
        [&](const auto& record) { return gone || Outcomes(record).size() + 4 > count; }));
  }
  killer.get();
  for (int i = 0; i < 20; ++i) start_next();
  EXPECT_TRUE(traffic.GoesOn());
  node.Run([&](Transport& t) {
    remote.reset();
    t.Disconnect(peer);
  });
  ASSERT_TRUE(node.WaitUntil([&](const auto& record) { return Outcomes(record).size() == count; }));
  EXPECT_LT(MonotonicNow() - killed, kLimit);

  int failed = 0;
  for (const absl::Status& status : Outcomes(node.record())) {
    failed += !status.ok();
    EXPECT_TRUE(status.ok() || absl::IsCancelled(status) || absl::IsUnavailable(status)) << status;
  }
  EXPECT_GT(failed, 0);
  EXPECT_TRUE(traffic.GoesOn());
  EXPECT_TRUE(traffic.EndsWell());
  for (const auto& [down, why] : node.record().downs) EXPECT_NE(down, traffic.peer()) << why;
}

INSTANTIATE_TEST_SUITE_P(Of, RdmaKilledPeerTest,
                         ::testing::Values(Operation::kGet, Operation::kSend));

}  // namespace
}  // namespace weir::testing
