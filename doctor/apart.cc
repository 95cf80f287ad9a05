#include "doctor/apart.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/unique_fd.h"
#include "doctor/report.h"

namespace weir::doctor {
namespace {

enum class Ending { kEnd, kTooLate };

int MillisecondsTo(absl::Time deadline) {
  return static_cast<int>(
      std::max<std::int64_t>(absl::ToInt64Milliseconds(deadline - absl::Now()), 0));
}

void WriteAll(int to, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(to, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    written += static_cast<std::size_t>(count);
  }
}

[[noreturn]] void Child(int to, pid_t parent, const std::function<std::vector<Check>()>& examine) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent) WriteAll(to, ReportJson(examine()));
  // Neither the parent's buffers nor the libraries' own clean-up.
  _exit(0);
}

Ending ReadToEnd(int from, absl::Time deadline, std::string& text) {
  std::array<char, 4096> part{};
  while (true) {
    pollfd ready{.fd = from, .events = POLLIN, .revents = 0};
    const int count = poll(&ready, 1, MillisecondsTo(deadline));
    if (count == 0) return Ending::kTooLate;
    if (count < 0 && errno == EINTR) continue;
    const ssize_t got = read(from, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Ending::kEnd;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

// Not waited for: a process within a hanging driver does not end even then. What is left of it goes
// with this process.
void LetGo(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, WNOHANG);
}

std::string HowItEnded(pid_t child, absl::Time deadline) {
  // By number: glibc 2.36's header forgets that C++ includes it too.
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
  while (poll(&ended, 1, MillisecondsTo(deadline)) < 0 && errno == EINTR) {
  }
  int state = 0;
  if (waitpid(child, &state, WNOHANG) != child) {
    LetGo(child);
    return "it does not end";
  }
  return WIFSIGNALED(state) ? absl::StrCat("it crashed (", strsignal(WTERMSIG(state)), ")")
                            : absl::StrCat("it ended with ", WEXITSTATUS(state));
}

std::vector<Check> Broken(const std::string& name, const std::string& what) {
  return {Fail(name, what,
               "a driver or library is broken: look at dmesg, and at UCX_LOG_LEVEL=debug weir "
               "doctor")};
}

}  // namespace

std::vector<Check> ExamineApart(const std::string& name, absl::Duration limit,
                                const std::function<std::vector<Check>()>& examine) {
  const absl::Time deadline = absl::Now() + limit;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return {Unknown(name, absl::StrCat("it: ", std::generic_category().message(errno)))};
  }
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child == 0) Child(to.get(), self, examine);
  to.reset();
  if (child < 0)
    return {Unknown(name, absl::StrCat("it: ", std::generic_category().message(errno)))};
  std::string text;
  const Ending ending = ReadToEnd(from.get(), deadline, text);
  std::optional<std::vector<Check>> checks = ParseReportJson(text);
  if (!checks.has_value() && ending == Ending::kEnd) {
    return Broken(name, HowItEnded(child, deadline));
  }
  LetGo(child);
  if (checks.has_value()) return *std::move(checks);
  return Broken(name, absl::StrCat("no answer within ", absl::FormatDuration(limit)));
}

}  // namespace weir::doctor
