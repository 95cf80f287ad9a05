#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/unique_fd.h"

namespace weir::bench {

/// This same program, started again with other arguments. Its stdin and stdout are pipes to us; its
/// stderr goes to a file of its own, shown only when it fails. Destruction kills it.
/// Threads: one at a time. Every wait ends with kCancelled when this process is told to stop.
class Child {
 public:
  /// `arguments` without the program's name. Neither TF_CONFIG nor WEIR_TOKEN is handed on.
  static absl::StatusOr<Child> Start(std::vector<std::string> arguments);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  /// Writes `line` and a newline to its stdin. A child that has ended is noticed by the next wait.
  void Tell(absl::string_view line);

  /// Waits for the next line of its stdout, and returns it without its newline. Errors: as Wait's,
  /// and kInternal where it ended well without having written one.
  absl::StatusOr<std::string> AwaitLine(absl::Duration limit);

  /// Closes its stdin, waits for its end, and returns what of its stdout was not read as lines.
  /// Errors: what it wrote last to stderr and its exit code, where that is not 0;
  /// kDeadlineExceeded, and it is killed.
  absl::StatusOr<std::string> Wait(absl::Duration limit);

 private:
  Child(std::vector<std::string> arguments, pid_t pid, UniqueFd in, UniqueFd out, UniqueFd log);
  /// Waits for more of its stdout; false once it has ended.
  absl::StatusOr<bool> ReadSome(absl::Time deadline);
  absl::Status Verdict() const;
  std::string Command() const;

  std::vector<std::string> arguments_;
  pid_t pid_;       ///< -1 once it was waited for
  int status_ = 0;  ///< waitpid's, from then on
  UniqueFd in_;
  UniqueFd out_;
  UniqueFd log_;
  std::string text_;  ///< its stdout, as far as it was not handed out
};

}  // namespace weir::bench
