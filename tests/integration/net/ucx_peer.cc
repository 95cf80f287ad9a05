// A process for tests of peers that die: `ucx_peer tcp|shm|rdma [MICROSECONDS]` writes its address
// to stdout, reads that of its peer from stdin (a line of hex each), greets it, and then answers
// each message until it is killed; or until so long after it began to connect, when it ends as
// killed.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/strings/escaping.h"
#include "common/base/clock.h"
#include "common/net/ucx/ucx_transport.h"

namespace weir {
namespace {

class Echo : public net::TransportEvents {
 public:
  Echo(net::Transport& transport, net::PeerId peer) : transport_(transport), peer_(peer) {}
  void OnMessage(std::uint8_t type, ByteSpan header, ByteSpan) override {
    transport_.Send(peer_, type, header, {}, nullptr, net::SendToken(1));
  }
  void OnSent(net::SendToken, const absl::Status&) override {}
  void OnPeerDown(net::PeerId, const absl::Status&) override { gone_ = true; }
  bool gone() const { return gone_; }

 private:
  net::Transport& transport_;
  net::PeerId peer_;
  bool gone_ = false;
};

net::UcxFabric FabricNamed(const std::string& name) {
  if (name == "rdma") return net::UcxFabric::kRdma;
  return name == "shm" ? net::UcxFabric::kShm : net::UcxFabric::kTcp;
}

int Run(const std::string& fabric, absl::Duration life) {
  net::UcxOptions options;
  options.fabric = FabricNamed(fabric);
  options.loopback_only = true;
  auto transport = net::UcxTransport::Create(options);
  if (!transport.ok()) {
    std::cerr << transport.status() << "\n";
    return 1;
  }
  std::cout << absl::BytesToHexString((*transport)->address()) << std::endl;
  std::string address;
  std::getline(std::cin, address);
  const absl::Time end = MonotonicNow() + life;
  auto peer = (*transport)->Connect(absl::HexStringToBytes(address), "test");
  if (!peer.ok()) {
    std::cerr << peer.status() << "\n";
    return 1;
  }
  Echo echo(**transport, *peer);
  (*transport)->Send(*peer, 1, {}, {}, nullptr, net::SendToken(1));
  while (!echo.gone()) {
    if (MonotonicNow() >= end) _exit(1);
    // To the microsecond, where it matters.
    const bool idle = !(*transport)->Progress(echo);
    if (idle && end == absl::InfiniteFuture()) (*transport)->Wait(absl::Seconds(1));
  }
  transport->reset();
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc < 2 || argc > 3 || getppid() == 1) return 2;
  const auto life = argc == 3 ? absl::Microseconds(std::atoll(argv[2])) : absl::InfiniteDuration();
  return weir::Run(argv[1], life);
}
