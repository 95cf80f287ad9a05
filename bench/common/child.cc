#include "bench/common/child.h"

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

Child::Child(std::vector<std::string> arguments, pid_t pid, UniqueFd in, UniqueFd out, UniqueFd log)
    : arguments_(std::move(arguments)),
      pid_(pid),
      in_(std::move(in)),
      out_(std::move(out)),
      log_(std::move(log)) {}

Child::Child(Child&& other) noexcept
    : arguments_(std::move(other.arguments_)),
      pid_(std::exchange(other.pid_, -1)),
      status_(other.status_),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      log_(std::move(other.log_)),
      text_(std::move(other.text_)) {}

Child::~Child() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

absl::StatusOr<Child> Child::Start(std::vector<std::string> arguments) {
  std::array<int, 2> to{}, from{};
  if (pipe2(to.data(), O_CLOEXEC) != 0) return Failed("make a pipe");
  const UniqueFd in_read(to[0]);
  UniqueFd in(to[1]);
  if (pipe2(from.data(), O_CLOEXEC) != 0) return Failed("make a pipe");
  UniqueFd out(from[0]);
  const UniqueFd out_write(from[1]);
  UniqueFd log(memfd_create("weir-bench-log", MFD_CLOEXEC));
  if (log.get() < 0) return Failed("make a file in memory");

  std::vector<std::string> argv = arguments;
  argv.insert(argv.begin(), "weir");
  std::vector<std::string> environment = EnvironmentWithoutJob();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in_read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out_write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, log.get(), STDERR_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                SpawnPointers(argv).data(), SpawnPointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return absl::ErrnoToStatus(error, absl::StrCat("cannot start weir ", arguments.front()));
  }
  return Child(std::move(arguments), pid, std::move(in), std::move(out), std::move(log));
}

// A pipe holds 64 KiB, and what is told is a word: the write does not wait.
void Child::Tell(absl::string_view line) {
  const std::string text = absl::StrCat(line, "\n");
  while (write(in_.get(), text.data(), text.size()) < 0 && errno == EINTR) {
  }
}

absl::StatusOr<std::string> Child::AwaitLine(absl::Duration limit) {
  const absl::Time deadline = MonotonicNow() + limit;
  std::size_t end = 0;
  while ((end = text_.find('\n')) == std::string::npos) {
    WEIR_ASSIGN_OR_RETURN(const bool more, ReadSome(deadline));
    if (more) continue;
    WEIR_RETURN_IF_ERROR(Verdict());
    return absl::InternalError(absl::StrCat(Command(), " ended without an answer"));
  }
  std::string line = text_.substr(0, end);
  text_.erase(0, end + 1);
  return line;
}

absl::StatusOr<std::string> Child::Wait(absl::Duration limit) {
  const absl::Time deadline = MonotonicNow() + limit;
  in_.reset();
  bool more = true;
  while (more) {
    WEIR_ASSIGN_OR_RETURN(more, ReadSome(deadline));
  }
  WEIR_RETURN_IF_ERROR(Verdict());
  return std::move(text_);
}

absl::StatusOr<bool> Child::ReadSome(absl::Time deadline) {
  while (pid_ >= 0) {
    if (StopSignal::received()) return absl::CancelledError("told to stop");
    if (MonotonicNow() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat(Command(), " did not do in time what it was asked for:\n", EndOf(log_)));
    }
    pollfd waiting{.fd = out_.get(), .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, 100) <= 0) continue;
    std::array<char, 65536> piece{};
    const ssize_t count = read(out_.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count > 0) {
      text_.append(piece.data(), static_cast<std::size_t>(count));
      return true;
    }
    // It closed its stdout, as it does when it ends, and not before.
    // By number: glibc 2.36's header forgets that C++ includes it too.
    const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
    poll(&ended, 1, 100);
    if (waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
  }
  return false;
}

absl::Status Child::Verdict() const {
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == 0) return absl::OkStatus();
  const int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  const absl::Status failure =
      absl::InternalError(absl::StrCat(Command(), " ended with ", code, ":\n", EndOf(log_)));
  return code <= 4 ? WithExitCode(failure, static_cast<ExitCode>(code)) : failure;
}

std::string Child::Command() const {
  return absl::StrCat("`weir ", absl::StrJoin(arguments_, " "), "`");
}

}  // namespace weir::bench
