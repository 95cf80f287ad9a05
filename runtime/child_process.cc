#include "runtime/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "runtime/spawn_arguments.h"

namespace weir {
namespace {

std::vector<std::string> ChildEnvironment(const MemberAssignment& assignment,
                                          const std::string& token) {
  std::vector<std::string> environment = EnvironmentWithoutJob();
  environment.push_back(absl::StrCat(kMemberVariable, "=", assignment.ToText()));
  if (!token.empty()) environment.push_back(absl::StrCat("WEIR_TOKEN=", token));
  return environment;
}

absl::Status Failed(int error, absl::string_view what) {
  return absl::InternalError(absl::StrCat("cannot ", what, ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<ChildProcess> ChildProcess::Spawn(MemberAssignment assignment,
                                                 std::vector<std::string> arguments,
                                                 const std::string& token, int log_fd,
                                                 int stdout_fd) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Failed(errno, "make a pipe");
  UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);

  // The child's copy of the pipe keeps a number of its own without the close-on-exec flag.
  constexpr int kReadyFd = 3;
  assignment.parent = getpid();
  assignment.ready_fd = kReadyFd;
  std::vector<std::string> environment = ChildEnvironment(assignment, token);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (stdout_fd >= 0) posix_spawn_file_actions_adddup2(&actions, stdout_fd, STDOUT_FILENO);
  if (log_fd >= 0) posix_spawn_file_actions_adddup2(&actions, log_fd, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), kReadyFd);
  // A group of its own: the terminal's Ctrl-C reaches only the parent, which ends the job in order.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ChildProcess child;
  child.task_ = assignment.task;
  const int error = posix_spawn(&child.pid_, "/proc/self/exe", &actions, &attributes,
                                SpawnPointers(arguments).data(), SpawnPointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return Failed(error, absl::StrCat("start ", assignment.task.ToString()));
  child.ready_ = std::move(read_end);
  return child;
}

absl::StatusOr<int> ChildProcess::WaitUntilServing(absl::Duration timeout) {
  const absl::Time deadline = MonotonicNow() + timeout;
  std::string text;
  while (!absl::StrContains(text, '\n')) {
    const auto left = absl::ToInt64Milliseconds(deadline - MonotonicNow());
    pollfd waiting{.fd = ready_.get(), .events = POLLIN, .revents = 0};
    const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      return absl::DeadlineExceededError(
          absl::StrCat(task_.ToString(), " did not start in ", absl::FormatDuration(timeout)));
    }
    std::array<char, 64> piece{};
    const ssize_t count = read(ready_.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return absl::UnavailableError(absl::StrCat(task_.ToString(), " ended while it started"));
    }
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  int port = 0;
  text.pop_back();
  if (!absl::SimpleAtoi(text, &port)) {
    return absl::InternalError(absl::StrCat(task_.ToString(), " reported port '", text, "'"));
  }
  return port;
}

void ChildProcess::Signal(int signal) const {
  if (!end_.has_value()) kill(pid_, signal);
}

const std::optional<ChildEnd>& ChildProcess::Poll() {
  if (end_.has_value()) return end_;
  int status = 0;
  rusage usage{};
  if (wait4(pid_, &status, WNOHANG, &usage) != pid_) return end_;
  end_ = ChildEnd{.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                  .by_signal = WIFSIGNALED(status) != 0,
                  .peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024};
  return end_;
}

}  // namespace weir
