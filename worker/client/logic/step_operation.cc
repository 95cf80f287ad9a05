#include "worker/client/logic/step_operation.h"

#include <cassert>
#include <utility>

namespace weir::client {

void StepOperation::Start(absl::Time now, std::optional<Step> completed, NextWeights weights,
                          absl::Duration patience) {
  assert(!active_);
  active_ = true;
  completed_ = completed;
  weights_ = weights;
  patience_ = patience;
  pulled_at_.reset();
  result_.reset();
  // The ticket first: it is the longer way, and the small message.
  RequestTicket(now);
  if (weights == NextWeights::kPullAll) {
    pull_.Start(now, now + patience);
  } else if (weights == NextWeights::kFollowed) {
    pull_.Extend(now + patience);
  }
  Proceed(now);
}

void StepOperation::RequestTicket(absl::Time now) {
  ticket_.Start(now, completed_, wire::TicketAction::Next, now + patience_);
}

void StepOperation::Interrupt() {
  if (active_) GiveUp(absl::CancelledError("the wait for the next step was interrupted"));
}

void StepOperation::Proceed(absl::Time now) {
  if (!active_) return;
  if (weights_ != NextWeights::kNone && !pulled_at_ && pull_.result()) {
    if (!pull_.result()->ok()) return GiveUp(*pull_.result());
    pulled_at_ = now;
  }
  if (ticket_.expired()) {
    ++renewals_;
    RequestTicket(now);
  }
  if (ticket_.result()) EndWithTicket(now);
}

void StepOperation::EndWithTicket(absl::Time now) {
  const absl::StatusOr<TicketResult>& ticket = *ticket_.result();
  const bool granted = ticket.ok() && ticket->outcome == wire::TicketOutcome::Granted;
  if (granted && pulled_at_ && now - *pulled_at_ > state_.options.stale_after) {
    pull_.Start(now, now + patience_);
  }
  End(ticket);
}

void StepOperation::GiveUp(const absl::Status& why) {
  ticket_.Abort(why);
  End(why);
}

void StepOperation::End(absl::StatusOr<TicketResult> result) {
  active_ = false;
  result_.emplace(std::move(result));
}

}  // namespace weir::client
