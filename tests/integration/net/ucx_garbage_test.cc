// Strangers at UCX's TCP port: neither random bytes nor active messages of another make may hurt.
// (Bytes crafted to look like UCX's own connecting may: the fabric is trusted.)
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "common/net/ucx/address.h"
#include "common/net/ucx/batch_format.h"
#include "common/net/ucx/context.h"
#include "common/net/ucx/ucx_transport.h"
#include "gtest/gtest.h"
#include "tests/support/transport_node.h"

namespace weir::testing {
namespace {

using net::SendToken;
using net::Transport;

net::UcxOptions TcpOptions() {
  net::UcxOptions options;
  options.loopback_only = true;
  return options;
}

std::unique_ptr<Transport> CreateTcp() { return *net::UcxTransport::Create(TcpOptions()); }

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

/// UCX of its own that sends active messages as no weir does.
class Stranger {
 public:
  explicit Stranger(const std::string& to) : context_(*net::UcxContext::Create(TcpOptions())) {
    ucp_worker_params_t params{};
    EXPECT_EQ(ucp_worker_create(context_->get(), &params, &worker_), UCS_OK);
    const std::string address = *net::UnpackUcxAddress(to);
    ucp_ep_params_t endpoint{};
    endpoint.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                          UCP_EP_PARAM_FIELD_ERR_HANDLER;
    endpoint.address = reinterpret_cast<const ucp_address_t*>(address.data());
    endpoint.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    endpoint.err_handler.cb = [](void*, ucp_ep_h, ucs_status_t) {};
    EXPECT_EQ(ucp_ep_create(worker_, &endpoint, &endpoint_), UCS_OK);
  }
  ~Stranger() {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    ucs_status_ptr_t closing = ucp_ep_close_nbx(endpoint_, &param);
    if (UCS_PTR_IS_PTR(closing)) {
      while (ucp_request_check_status(closing) == UCS_INPROGRESS) ucp_worker_progress(worker_);
      ucp_request_free(closing);
    }
    for (const ucs_status_ptr_t request : sends_) ucp_request_free(request);
    ucp_worker_destroy(worker_);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  void Send(unsigned type, std::string header, std::string payload, unsigned flags) {
    const std::string& kept_header = kept_.emplace_back(std::move(header));
    const std::string& kept_payload = kept_.emplace_back(std::move(payload));
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = flags;
    const ucs_status_ptr_t request =
        ucp_am_send_nbx(endpoint_, type, kept_header.data(), kept_header.size(),
                        kept_payload.data(), kept_payload.size(), &param);
    if (UCS_PTR_IS_PTR(request)) sends_.push_back(request);
  }
  void Progress() { ucp_worker_progress(worker_); }

 private:
  const std::shared_ptr<net::UcxContext> context_;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  std::deque<std::string> kept_;  // UCX reads them until the send is complete
  std::vector<ucs_status_ptr_t> sends_;
};

std::string Prefix(const net::RecordPrefix& prefix) {
  return std::string(reinterpret_cast<const char*>(&prefix), sizeof(prefix));
}

TEST(UcxGarbageTest, MessagesThatNoWeirSendsAreDroppedAndCounted) {
  struct Bad {
    const char* what;
    unsigned type;
    std::string header;
    std::string payload;
    unsigned flags = UCP_AM_SEND_FLAG_EAGER;
  };
  const std::vector<Bad> bad = {
      {"a header of 65 bytes", 1, std::string(net::kMaxHeaderBytes + 1, 'x'), ""},
      {"a payload of 224 KiB and 1 byte", 1, "", std::string(net::kMaxPayloadBytes + 1, 'x')},
      {"a rendezvous", 1, "", std::string(1000, 'x'), UCP_AM_SEND_FLAG_RNDV},
      {"an empty batch", net::kBatchMessage, "", ""},
      {"half a prefix", net::kBatchMessage, "abcd", ""},
      {"more payload than there is", net::kBatchMessage, Prefix({.payload_bytes = 9, .type = 1}),
       "12345678"},
      {"less payload than there is", net::kBatchMessage, Prefix({.payload_bytes = 7, .type = 1}),
       "12345678"},
      {"a header that is cut short", net::kBatchMessage, Prefix({.type = 1, .header_bytes = 9}),
       ""},
      {"a record without a type", net::kBatchMessage, Prefix({}), ""},
      {"a batch in a batch", net::kBatchMessage, Prefix({.type = net::kBatchMessage}), ""},
      {"a gap beyond the end", net::kBatchMessage,
       Prefix({.payload_bytes = 1, .type = 1, .gap_bytes = 63}), "12345678"},
      {"good records before a bad one", net::kBatchMessage, Prefix({.type = 1}) + Prefix({}), ""},
      {"a batch of more headers than fit", net::kBatchMessage,
       std::string(net::kMaxBatchHeaderBytes + 1, '\0'), ""},
  };
  TransportNode node(CreateTcp());
  std::string address;
  node.Run([&](Transport& t) { address = t.address(); });
  Stranger stranger(address);
  const auto dropped = [&] {
    std::uint64_t count = 0;
    node.Run(
        [&](Transport& t) { count = static_cast<const net::UcxTransport&>(t).dropped_messages(); });
    return count;
  };
  for (const Bad& message : bad) {
    const std::uint64_t before = dropped();
    stranger.Send(message.type, message.header, message.payload, message.flags);
    const absl::Time give_up = MonotonicNow() + absl::Seconds(10);
    while (dropped() == before && MonotonicNow() < give_up) stranger.Progress();
    EXPECT_EQ(dropped(), before + 1) << message.what;
    EXPECT_TRUE(node.record().messages.empty()) << message.what;
  }
  // The connection goes on.
  stranger.Send(3, "header", "payload", UCP_AM_SEND_FLAG_EAGER);
  EXPECT_TRUE(node.WaitUntil([&](const TransportNode::Record& record) {
    stranger.Progress();
    return record.messages.size() == 1;
  }));
}

}  // namespace
}  // namespace weir::testing
