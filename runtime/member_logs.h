#pragma once

#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/log.h"
#include "common/base/mutex.h"
#include "common/base/unique_fd.h"
#include "common/config/cluster_spec.h"
#include "runtime/member_lines.h"

namespace weir {

/// Brings the members' stderr together: a pipe each, read by one thread, so that lines of two never
/// mix and a member that dies in the middle of one spoils no other's.
class MemberLogs {
 public:
  /// `write` gets whole lines, newline included, one call at a time, from the reading thread.
  MemberLogs(LogFormat format, std::function<void(absl::string_view)> write);
  /// Closes.
  ~MemberLogs();

  /// A pipe; its first end is to be the member's stderr, its second goes to Read.
  struct Pipe {
    UniqueFd member_end;
    UniqueFd read_end;
  };
  static absl::StatusOr<Pipe> Open();
  /// Reads until no process has the member's end.
  absl::Status Read(const Task& task, int pid, UniqueFd read_end);

  /// The last error that an ended member told of; empty: none. Waits, a second at most, for what
  /// it has written to be read.
  std::string LastError(const Task& task);

  /// To be called when all members have ended; Read no more after. Waits until every member's end
  /// is closed, two seconds at most: a program's own children may have inherited it.
  void Close();

 private:
  struct Source {
    Task task;
    UniqueFd fd;  // none once it has ended
    MemberLines lines;
  };
  void ReadAll();
  void ReadSome(std::size_t index);
  bool AllEnded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LogFormat format_;
  const std::function<void(absl::string_view)> write_;
  UniqueFd epoll_;
  UniqueFd wake_;
  Mutex mutex_;
  CondVar ended_;
  std::deque<Source> sources_ ABSL_GUARDED_BY(mutex_);
  absl::Time close_by_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::jthread reader_;
};

}  // namespace weir
