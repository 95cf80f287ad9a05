#include <fcntl.h>

#include <csignal>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/last_words.h"

namespace {

// Started with one of the three closed, the next file or socket would take its number, and the log
// would go there.
void OpenStandardStreams() {
  int fd = 0;
  while (fd >= 0 && fd <= 2) {
    if (fcntl(fd, F_GETFD) >= 0) {
      ++fd;
    } else {
      fd = open("/dev/null", O_RDWR);  // the lowest free number: this one
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  OpenStandardStreams();
  // A closed pipe and a full quota are errors to report, not ends of the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  weir::cli::InstallLastWords();
  return weir::cli::Dispatch(std::vector<std::string>(argv + 1, argv + argc));
}
