#include <csignal>
#include <string>
#include <vector>

#include "cli/commands.h"

int main(int argc, char** argv) {
  // A closed pipe and a full quota are errors to report, not ends of the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return weir::cli::Dispatch(std::vector<std::string>(argv + 1, argv + argc));
}
