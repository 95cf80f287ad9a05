#include "runtime/worker_program.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"
#include "weir/exit_code.h"

namespace weir {

std::string ProgramCluster::TfConfigFor(int index) const {
  return nlohmann::json{{"cluster", {{"chief", {chief}}, {"ps", ps}, {"worker", workers}}},
                        {"task", {{"type", "worker"}, {"index", index}}}}
      .dump();
}

absl::StatusOr<std::vector<std::string>> FreeAddresses(int count) {
  std::vector<UniqueFd> sockets;  // open until all are found: no port twice
  std::vector<std::string> addresses;
  for (int i = 0; i < count; ++i) {
    sockets.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (bind(sockets.back().get(), any, size) != 0 ||
        getsockname(sockets.back().get(), any, &size) != 0) {
      return absl::ResourceExhaustedError(
          absl::StrCat("there is no free port on 127.0.0.1: ", std::strerror(errno)));
    }
    addresses.push_back(absl::StrCat("127.0.0.1:", ntohs(address.sin_port)));
  }
  return addresses;
}

absl::Status BecomeProgram(const MemberAssignment& assignment) {
  setenv("TF_CONFIG", assignment.tf_config.c_str(), 1);
  if (assignment.ready_fd >= 0) close(assignment.ready_fd);
  // `weir` ignores these two; a program expects what every program gets.
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  std::vector<std::string> program = assignment.program;
  std::vector<char*> arguments;
  for (std::string& argument : program) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  return WithExitCode(
      absl::NotFoundError(absl::StrCat("cannot run the workers' program ", program.front(), ": ",
                                       std::strerror(errno))),
      ExitCode::kBadUsage);
}

}  // namespace weir
