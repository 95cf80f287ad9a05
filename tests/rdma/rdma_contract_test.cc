// The transport contract over an RDMA device: rc as weir uses it, or what UCX_TLS says ("ud_v").
// Where there is no device every case fails: scripts/rdma-vm has one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/string_view.h"
#include "common/net/one_sided_trial.h"
#include "gtest/gtest.h"
#include "tests/rdma/over_rdma.h"
#include "tests/support/transport_contract.h"
#include "tests/support/transport_pair.h"

namespace weir::testing {
namespace {

// What this process has pinned for devices, in KiB.
std::uint64_t PinnedKib() {
  std::ifstream status("/proc/self/status");
  std::string name;
  std::uint64_t kib = 0;
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    if (words >> name >> kib && name == "VmPin:") return kib;
  }
  ADD_FAILURE() << "the kernel does not tell VmPin";
  return 0;
}

// All memory regions on all devices: those of this test, since nothing else is there. (Queue pairs
// say nothing here: UCX destroys one when the device reports its last work request, which rxe does
// not do, so that they stay until their transport goes.)
int RegionsOnDevices() {
  int regions = -1;
  // "0: rxe0: pd 1 cq 2 qp 3 cm_id 0 mr 4 ctx 1 srq 0"
  FILE* const output = popen("rdma resource show", "r");
  if (output == nullptr) return regions;
  char line[256];
  while (std::fgets(line, sizeof line, output) != nullptr) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word == "mr") words >> regions;
    }
  }
  EXPECT_EQ(pclose(output), 0) << "rdma, of iproute2";
  return regions;
}

TEST(RdmaMemoryTest, IsNotLeakedOverAHundredConnects) {
  if (std::getenv("UCX_TLS") != nullptr) GTEST_SKIP() << "is about rc";
  TransportPair pair(OverRdma());
  pair.Greet();
  std::string address;
  pair.b.Run([&](net::Transport& t) { address = t.address(); });
  std::uint64_t pinned = 0;
  int regions = 0;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    std::unique_ptr<net::Memory> source;
    std::unique_ptr<net::Memory> target;
    std::unique_ptr<net::RemoteMemory> remote;
    net::PeerId peer;
    pair.b.Run([&](net::Transport& t) { source = *t.Allocate(100'000); });
    pair.a.Run([&](net::Transport& t) {
      peer = *t.Connect(address, "b");
      target = *t.Allocate(100'000);
      remote = *t.Open(peer, source->remote_key(), 100'000);
      t.Get(*remote, 0, target->bytes(), *target, net::GetToken(i));
    });
    ASSERT_TRUE(pair.a.WaitUntil([i](const auto& record) { return record.got.size() == i; }));
    EXPECT_EQ(pair.a.record().got.back().second, absl::OkStatus());
    pair.a.Run([&](net::Transport& t) {
      remote.reset();
      target.reset();
      t.Disconnect(peer);
    });
    pair.b.Run([&](net::Transport&) { source.reset(); });
    if (i == 20) {
      pinned = PinnedKib();
      regions = RegionsOnDevices();
    }
  }
  EXPECT_GT(pinned, 0U);
  EXPECT_EQ(PinnedKib(), pinned);
  EXPECT_GT(regions, 0);
  EXPECT_EQ(RegionsOnDevices(), regions);
}

// Whoever asked to connect goes at once: the other one's answer may not be out yet.
TEST(RdmaConnectTest, SurvivesPeersThatAreClosedWhileTheyConnect) {
  TransportPair pair(OverRdma());
  pair.Greet();
  std::string address_a;
  std::string address_b;
  pair.a.Run([&](net::Transport& t) { address_a = t.address(); });
  pair.b.Run([&](net::Transport& t) { address_b = t.address(); });
  for (int i = 0; i < 50; ++i) {
    net::PeerId to_a;
    pair.b.Run([&](net::Transport& t) { to_a = *t.Connect(address_a, "a"); });
    pair.a.Run([&](net::Transport& t) { t.Disconnect(*t.Connect(address_b, "b")); });
    pair.b.Run([&](net::Transport& t) { t.Disconnect(to_a); });
  }
  pair.a.Run([&](net::Transport& t) { t.Send(pair.to_b, 9, {}, {}, nullptr, net::SendToken(1)); });
  EXPECT_TRUE(pair.b.WaitUntil(
      [](const TransportNode::Record& record) { return record.messages.back().type == 9; }));
}

// How a role finds out whether it may say that it has RDMA.
TEST(RdmaTrialTest, PassesOverRcAlone) {
  const absl::Status status = net::TryOneSidedRead(OverRdma().create(), absl::Seconds(20));
  if (std::getenv("UCX_TLS") == nullptr) {
    EXPECT_EQ(status, absl::OkStatus());
  } else {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_NE(status.message().find("has no one-sided reads"), absl::string_view::npos) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Rdma, TransportContract, ::testing::Values(OverRdma()));

}  // namespace
}  // namespace weir::testing
