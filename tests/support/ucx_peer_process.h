#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"

extern char** environ;

namespace weir::testing {

/// The ucx_peer process (tests/integration/net), killed at the latest with this object.
class PeerProcess {
 public:
  explicit PeerProcess(std::vector<std::string> arguments) {
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
    std::vector<char*> argv = {program.data()};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ) != 0) abort();
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
  /// And takes its exit status: UCX's shm takes a zombie for alive.
  void Kill() {
    if (pid_ != 0) kill(pid_, SIGKILL);
    AwaitEnd();
  }
  void AwaitEnd() {
    if (pid_ != 0) waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
};

}  // namespace weir::testing
