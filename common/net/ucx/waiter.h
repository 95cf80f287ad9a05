#pragma once

#include <ucp/api/ucp.h>

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/unique_fd.h"
#include "common/net/spin_policy.h"

namespace weir::net {

/// Sleeps until a UCP worker has something to do or somebody rings; before it sleeps, it may let
/// its caller poll for a while (SpinPolicy).
///
/// Polling is the caller's own loop: Wait returns at once, and the caller, who finds nothing to do,
/// comes again. So nothing is armed and no system call is made but the worker's own, and the caller
/// sees what else it waits for. To be told when to stop, a waiter must hear of all work: OnWork.
/// Threads: those of Transport, whose owner thread calls all but Ring.
class UcxWaiter {
 public:
  /// The longest sleep, so that UCX's keepalive and its stalled wake-ups get their turn.
  static constexpr absl::Duration kLongestSleep = absl::Milliseconds(100);

  /// What a fabric signals once it is armed.
  enum class Arming {
    kSignalsAll,
    /// Only what completes from then on (soft-RoCE; mlx5 signals all). So a wait arms, lets the
    /// owner look once more, and sleeps if that found nothing: else one message in a hundred waits
    /// for the longest sleep.
    kSignalsWhatFollows,
  };

  /// `worker` (with wake-up) must outlive the waiter. `spin`: the longest that a wait polls.
  static absl::StatusOr<UcxWaiter> Create(ucp_worker_h worker, absl::Duration spin, Arming arming);

  void Wait(absl::Duration timeout);
  /// There was something to do since the last Wait.
  void OnWork();
  /// Any thread.
  void Ring();

 private:
  /// One wait, from the first call that found nothing to do until there is work.
  struct Waiting {
    absl::Time began;
    absl::Time returned;  // from the last call
    bool polls = false;   // at first, anyway
    absl::Time spin_until;
    absl::Time next_yield;
    bool armed = false;                    // by the last call, and the owner has looked once more
    std::optional<absl::Time> busy_since;  // UCX has kept it from sleeping
  };

  UcxWaiter(ucp_worker_h worker, int worker_fd, UniqueFd bell, absl::Duration spin, Arming arming)
      : worker_(worker),
        worker_fd_(worker_fd),
        bell_(std::move(bell)),
        arming_(arming),
        policy_(spin) {}
  void Yield(absl::Time now);
  void Sleep(absl::Time now, absl::Duration timeout);

  ucp_worker_h worker_;
  int worker_fd_;  // the worker's own
  UniqueFd bell_;
  Arming arming_;
  SpinPolicy policy_;
  std::optional<Waiting> waiting_;
};

}  // namespace weir::net
