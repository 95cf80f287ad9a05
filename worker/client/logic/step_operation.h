#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "worker/client/logic/client_logic.h"
#include "worker/client/logic/client_state.h"
#include "worker/client/logic/pull_operation.h"
#include "worker/client/logic/ticket_operation.h"

namespace weir::client {

/// The way to the next step: its ticket, and weights that are fresh when it is granted. Ends with
/// the ticket; the pull may then still be under way, or have begun anew because the ticket had to
/// wait for other workers so long that what was pulled before is old.
class StepOperation {
 public:
  StepOperation(const ClientState& state, TicketOperation& ticket, PullOperation& pull)
      : state_(state), ticket_(ticket), pull_(pull) {}

  /// Each ticket request is repeated for `patience` and then made anew, as often as it takes: the
  /// wait for other workers' steps has no end of its own.
  void Start(absl::Time now, std::optional<Step> completed, NextWeights weights,
             absl::Duration patience);
  /// Ends it with kCancelled, if it is under way.
  void Interrupt();
  /// To be called after whatever may have ended the ticket or the pull.
  void Proceed(absl::Time now);

  const std::optional<absl::StatusOr<TicketResult>>& result() const { return result_; }
  /// Ticket requests that waited in vain for `patience`, in all.
  std::uint64_t renewals() const { return renewals_; }

 private:
  void RequestTicket(absl::Time now);
  void EndWithTicket(absl::Time now);
  void GiveUp(const absl::Status& why);
  void End(absl::StatusOr<TicketResult> result);

  const ClientState& state_;
  TicketOperation& ticket_;
  PullOperation& pull_;
  bool active_ = false;
  NextWeights weights_ = NextWeights::kPullAll;
  std::optional<Step> completed_;
  absl::Duration patience_;
  std::optional<absl::Time> pulled_at_;  // since the start
  std::uint64_t renewals_ = 0;
  std::optional<absl::StatusOr<TicketResult>> result_;
};

}  // namespace weir::client
