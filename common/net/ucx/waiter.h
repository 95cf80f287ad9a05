#pragma once

#include <ucp/api/ucp.h>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/unique_fd.h"

namespace weir::net {

/// Sleeps until a UCP worker has something to do or somebody rings.
class UcxWaiter {
 public:
  /// The longest sleep, so that UCX's keepalive and its stalled wake-ups get their turn.
  static constexpr absl::Duration kLongestSleep = absl::Milliseconds(100);

  /// `worker` (with wake-up) must outlive the waiter.
  static absl::StatusOr<UcxWaiter> Create(ucp_worker_h worker, absl::Duration spin);

  /// Owner's thread.
  void Wait(absl::Duration timeout);
  // The two halves of Wait without its spinning, for a fabric whose arming does not see what came
  // in just before it: Arm, then Progress once more, and Sleep if that found nothing.
  /// False: something came in, so Progress first.
  bool Arm();
  void Sleep(absl::Duration timeout);
  /// Any thread.
  void Ring();

 private:
  UcxWaiter(ucp_worker_h worker, int worker_fd, UniqueFd bell, absl::Duration spin)
      : worker_(worker), worker_fd_(worker_fd), bell_(std::move(bell)), spin_(spin) {}
  bool Poll(absl::Duration timeout);

  ucp_worker_h worker_;
  int worker_fd_;  // the worker's own
  UniqueFd bell_;
  absl::Duration spin_;
};

}  // namespace weir::net
