// Strangers at UCX's TCP port: random bytes must not hurt. (Bytes crafted to look like UCX's own
// may: the fabric is trusted.)
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"
#include "common/net/ucx/ucx_transport.h"
#include "gtest/gtest.h"
#include "tests/support/transport_node.h"

namespace weir::testing {
namespace {

using net::SendToken;
using net::Transport;

std::unique_ptr<Transport> CreateTcp() {
  net::UcxOptions options;
  options.loopback_only = true;
  return *net::UcxTransport::Create(options);
}

// The TCP ports on which this process listens.
std::vector<std::uint16_t> OwnPorts() {
  std::set<std::string> sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    sockets.insert(std::filesystem::read_symlink(entry.path(), error).string());
  }
  std::vector<std::uint16_t> ports;
  std::ifstream table("/proc/net/tcp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string slot, local, remote, state, skipped, inode;
    words >> slot >> local >> remote >> state;
    for (int i = 0; i < 5; ++i) words >> skipped;
    words >> inode;
    if (state != "0A" || !sockets.contains(absl::StrCat("socket:[", inode, "]"))) continue;
    ports.push_back(std::stoul(local.substr(local.find(':') + 1), nullptr, 16));
  }
  return ports;
}

// False when nobody listens (any more).
bool SendBytes(std::uint16_t port, const std::vector<char>& bytes) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return false;
  }
  // UCX may close at once; that is its answer.
  [[maybe_unused]] const ssize_t sent = send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return true;
}

TEST(UcxGarbageTest, SurvivesAThousandRandomStrings) {
  constexpr int kStrings = 1000;
  TransportNode node(CreateTcp());
  const std::vector<std::uint16_t> ports = OwnPorts();
  ASSERT_FALSE(ports.empty());
  std::mt19937 random(20240501);
  for (int i = 0; i < kStrings; ++i) {
    // Also none at all, and fewer than UCX waits for.
    std::vector<char> bytes(i % 3 == 0 ? random() % 16 : random() % 4096);
    for (char& byte : bytes) byte = static_cast<char>(random());
    for (const std::uint16_t port : ports) ASSERT_TRUE(SendBytes(port, bytes)) << i;
  }
  // It still does its work.
  TransportNode other(CreateTcp());
  std::string address;
  node.Run([&](Transport& t) { address = t.address(); });
  other.Run(
      [&](Transport& t) { t.Send(*t.Connect(address, "node"), 7, {}, {}, nullptr, SendToken(1)); });
  EXPECT_TRUE(node.WaitUntil(
      [](const TransportNode::Record& record) { return record.messages.size() == 1; }));
}

}  // namespace
}  // namespace weir::testing
