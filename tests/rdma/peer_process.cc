#include "tests/rdma/peer_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/escaping.h"

namespace weir::testing {
namespace {

// A line of hexadecimal digits, as bytes; empty at the end.
std::string ReadBytes(std::FILE* from) {
  std::string digits;
  for (int c = std::fgetc(from); c != EOF && c != '\n'; c = std::fgetc(from)) {
    digits.push_back(static_cast<char>(c));
  }
  return absl::HexStringToBytes(digits);
}

}  // namespace

PeerProcess::PeerProcess() {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "rdma_peer";
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return;
  std::FILE* const reading = fdopen(ends[0], "r");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::array<char*, 2> arguments = {const_cast<char*>(program.c_str()), nullptr};
  if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ) != 0) {
    pid_ = -1;
  }
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  address_ = ReadBytes(reading);
  memory_key_ = ReadBytes(reading);
  std::fclose(reading);
}

PeerProcess::~PeerProcess() { Kill(); }

void PeerProcess::Kill() {
  const pid_t pid = std::exchange(pid_, -1);
  if (pid < 0) return;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace weir::testing
