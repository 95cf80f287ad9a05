// Serves a FakeChief, prints its port, and lives until stdin closes.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/unit/rpc/fake_chief.h"

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  weir::rpc::FakeChief chief;
  if (argc > 1) chief.lease_ms = static_cast<std::uint32_t>(std::atoi(argv[1]));
  const auto server = weir::rpc::Serve(&chief);
  if (server == nullptr) return 1;
  std::printf("%d\n", server->port());
  std::fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
