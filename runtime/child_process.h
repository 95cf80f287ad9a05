#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/unique_fd.h"
#include "runtime/member_assignment.h"

namespace weir {

/// How a child ended: its exit code (128 + signal where a signal ended it) and its largest memory.
struct ChildEnd {
  int exit_code = 0;
  bool by_signal = false;
  std::uint64_t peak_rss_bytes = 0;
};

/// One member of a local cluster, a process of its own running this same program.
class ChildProcess {
 public:
  /// Starts this program again with `arguments` (the first is its name) and the assignment, whose
  /// parent and ready_fd are filled in, in its environment, as is the token. Where `log_fd` is not
  /// -1, its stderr goes there; where `stdout_fd` is not, its stdout.
  static absl::StatusOr<ChildProcess> Spawn(MemberAssignment assignment,
                                            std::vector<std::string> arguments,
                                            const std::string& token, int log_fd,
                                            int stdout_fd = -1);

  const Task& task() const { return task_; }
  pid_t pid() const { return pid_; }
  /// Waits for the port that it serves at. Errors: kUnavailable when it ended first.
  absl::StatusOr<int> WaitUntilServing(absl::Duration timeout);
  void Signal(int signal) const;
  /// Empty while it runs. Does not wait.
  const std::optional<ChildEnd>& Poll();
  const std::optional<ChildEnd>& end() const { return end_; }

 private:
  ChildProcess() = default;
  Task task_;
  pid_t pid_ = -1;
  UniqueFd ready_;
  std::optional<ChildEnd> end_;
};

}  // namespace weir
