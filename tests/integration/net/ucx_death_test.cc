// What a process notices when another is killed, over real UCX between two processes.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/net/ucx/ucx_transport.h"
#include "gtest/gtest.h"
#include "tests/support/transport_node.h"

extern char** environ;

namespace weir::testing {
namespace {

using net::PeerId;
using net::SendToken;
using net::Transport;

// The ucx_peer process, killed at the latest with this object.
class PeerProcess {
 public:
  explicit PeerProcess(const std::string& fabric) {
    int to_child[2];
    int from_child[2];
    if (pipe(to_child) != 0 || pipe(from_child) != 0) abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to_child[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from_child[1], 1);
    for (const int fd : {to_child[0], to_child[1], from_child[0], from_child[1]}) {
      posix_spawn_file_actions_addclose(&actions, fd);
    }
    std::string program = std::getenv("WEIR_UCX_PEER");
    std::string argument = fabric;
    char* argv[] = {program.data(), argument.data(), nullptr};
    if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ) != 0) abort();
    posix_spawn_file_actions_destroy(&actions);
    close(to_child[0]);
    close(from_child[1]);
    in_ = fdopen(to_child[1], "w");
    out_ = fdopen(from_child[0], "r");
  }
  ~PeerProcess() {
    Kill();
    std::fclose(in_);
    std::fclose(out_);
  }
  std::string ReadAddress() {
    char line[4096];
    if (std::fgets(line, sizeof(line), out_) == nullptr) return {};
    const std::string text(line);
    return absl::HexStringToBytes(text.substr(0, text.size() - 1));
  }
  void WriteAddress(const std::string& address) {
    std::fprintf(in_, "%s\n", absl::BytesToHexString(address).c_str());
    std::fflush(in_);
  }
  void Freeze() const { kill(pid_, SIGSTOP); }
  // And takes its exit status: UCX's shm takes a zombie for alive.
  void Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
};

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
  PeerProcess process(GetParam());
  TransportNode node(Create());
  const PeerId peer = Meet(node, process);
  process.Kill();
  ExpectDown(node, peer, 1);
}

TEST_P(UcxDeathTest, ReportsTheSendsToAKilledPeer) {
  constexpr int kCount = 300;
  const std::vector<std::byte> payload(net::kMaxPayloadBytes);
  for (int round = 0; round < 3; ++round) {
    PeerProcess process(GetParam());
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
  PeerProcess process(GetParam());
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
