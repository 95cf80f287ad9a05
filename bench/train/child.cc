#include "bench/train/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "runtime/spawn_arguments.h"
#include "runtime/stop_signal.h"
#include "weir/exit_code.h"

namespace weir::bench {
namespace {

constexpr std::size_t kShownLog = 2000;

absl::Status Failed(const char* what) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what));
}

std::string EndOf(const UniqueFd& file) {
  const off_t size = lseek(file.get(), 0, SEEK_END);
  const off_t from =
      size > static_cast<off_t>(kShownLog) ? size - static_cast<off_t>(kShownLog) : 0;
  std::string text(kShownLog, '\0');
  const ssize_t count = pread(file.get(), text.data(), text.size(), from);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

}  // namespace

Child::Child(std::vector<std::string> arguments, pid_t pid, UniqueFd out, UniqueFd log)
    : arguments_(std::move(arguments)), pid_(pid), out_(std::move(out)), log_(std::move(log)) {}

Child::Child(Child&& other) noexcept
    : arguments_(std::move(other.arguments_)),
      pid_(std::exchange(other.pid_, -1)),
      out_(std::move(other.out_)),
      log_(std::move(other.log_)) {}

Child::~Child() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

absl::StatusOr<Child> Child::Start(std::vector<std::string> arguments) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Failed("make a pipe");
  UniqueFd out(ends[0]);
  const UniqueFd write_end(ends[1]);
  UniqueFd log(memfd_create("weir-bench-log", MFD_CLOEXEC));
  if (log.get() < 0) return Failed("make a file in memory");

  std::vector<std::string> argv = arguments;
  argv.insert(argv.begin(), "weir");
  std::vector<std::string> environment = EnvironmentWithoutJob();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, log.get(), STDERR_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                SpawnPointers(argv).data(), SpawnPointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return absl::ErrnoToStatus(error, absl::StrCat("cannot start weir ", arguments.front()));
  }
  return Child(std::move(arguments), pid, std::move(out), std::move(log));
}

absl::StatusOr<std::string> Child::Wait(absl::Duration limit) {
  const absl::Time deadline = MonotonicNow() + limit;
  const std::string command = absl::StrCat("`weir ", absl::StrJoin(arguments_, " "), "`");
  std::string text;
  int status = 0;
  while (true) {
    if (StopSignal::received()) return absl::CancelledError("told to stop");
    if (MonotonicNow() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          command, " did not end within ", absl::FormatDuration(limit), ":\n", EndOf(log_)));
    }
    pollfd waiting{.fd = out_.get(), .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, 100) <= 0) continue;
    std::array<char, 4096> piece{};
    const ssize_t count = read(out_.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count > 0) {
      text.append(piece.data(), static_cast<std::size_t>(count));
      continue;
    }
    // It closed its stdout, as it does when it ends, and not before.
    // By number: glibc 2.36's header forgets that C++ includes it too.
    const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
    poll(&ended, 1, 100);
    if (waitpid(pid_, &status, WNOHANG) == pid_) break;
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  const absl::Status failure =
      absl::InternalError(absl::StrCat(command, " ended with ", code, ":\n", EndOf(log_)));
  return code <= 4 ? WithExitCode(failure, static_cast<ExitCode>(code)) : failure;
}

}  // namespace weir::bench
