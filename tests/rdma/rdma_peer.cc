// The other end of a transport test (peer_process.h): writes the address of its transport and the
// key of its memory, a line of hexadecimal digits each, and lives until it is killed.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "tests/rdma/over_rdma.h"
#include "tests/rdma/peer_process.h"
#include "tests/support/transport_node.h"

namespace weir::testing {
namespace {

int Live() {
  auto transport = CreateOverRdma();
  if (transport == nullptr) return 1;
  const auto memory = transport->Allocate(PeerProcess::kMemoryBytes);
  if (!memory.ok()) return 1;
  const std::string address = transport->address();
  const TransportNode node(std::move(transport));
  std::printf("%s\n%s\n", absl::BytesToHexString(address).c_str(),
              absl::BytesToHexString((*memory)->remote_key()).c_str());
  std::fflush(stdout);
  while (true) pause();
}

}  // namespace
}  // namespace weir::testing

int main() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return weir::testing::Live();
}
