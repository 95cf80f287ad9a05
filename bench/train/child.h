#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/unique_fd.h"

namespace weir::bench {

/// This same program, started again with other arguments, its stdout read by us; its stderr goes to
/// a file of its own, shown only when it fails. Destruction kills it.
class Child {
 public:
  /// `arguments` without the program's name. Neither TF_CONFIG nor WEIR_TOKEN is handed on.
  static absl::StatusOr<Child> Start(std::vector<std::string> arguments);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  /// Waits for its end and returns what it wrote to stdout. Errors: what it wrote last to stderr
  /// and its exit code, where that is not 0; kDeadlineExceeded, and it is killed; kCancelled when
  /// this process was told to stop.
  absl::StatusOr<std::string> Wait(absl::Duration limit);

 private:
  Child(std::vector<std::string> arguments, pid_t pid, UniqueFd out, UniqueFd log);
  std::vector<std::string> arguments_;
  pid_t pid_;  ///< -1 once it was waited for
  UniqueFd out_;
  UniqueFd log_;
};

}  // namespace weir::bench
