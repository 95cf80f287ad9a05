#include "worker/client/logic/ticket_operation.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/exit_code.h"

namespace weir::client {

void TicketOperation::Start(absl::Time now, std::optional<Step> completed,
                            wire::TicketAction action, absl::Time deadline) {
  assert(!active_);
  active_ = true;
  awaiting_view_ = false;
  expired_ = false;
  refusals_ = 0;
  result_.reset();
  request_ = request_.next();
  completed_ = completed.value_or(Step(0));
  action_ = action;
  started_ = now;
  deadline_ = deadline;
  if (!state_.links[kTicketShard.value()].connected) {
    return Fail(now, absl::StatusCode::kUnavailable, state_.NotConnected(kTicketShard).message());
  }
  Send(now);
}

void TicketOperation::Send(absl::Time now) {
  awaiting_view_ = false;
  due_ = now + state_.options.retry_after;
  state_.output.SendTicket(
      kTicketShard,
      wire::TicketRequest(state_.links[kTicketShard.value()].link.session,
                          state_.options.incarnation.value(), request_.value(), completed_.value(),
                          state_.view.value(), state_.options.worker.value(), action_, 0));
}

void TicketOperation::OnReply(absl::Time now, const wire::TicketReply& reply) {
  if (!active_ || reply.request() != request_.value()) {
    ++state_.dropped;
    return;
  }
  switch (reply.outcome()) {
    case wire::TicketOutcome::Granted:
    case wire::TicketOutcome::Finished:
    case wire::TicketOutcome::Released:
      return End(TicketResult{.outcome = reply.outcome(), .step = Step(reply.step())});
    case wire::TicketOutcome::StaleView:
      return Refused(now, ViewNumber(reply.view()));
    case wire::TicketOutcome::Fenced:
      return Fail(now, absl::StatusCode::kFailedPrecondition,
                  "fenced: this worker's incarnation is over (it was declared dead); restart it");
    case wire::TicketOutcome::Invalid:
      return Fail(now, absl::StatusCode::kInvalidArgument,
                  "the shard refused the request as invalid; worker and ps disagree, see the log "
                  "of the ps");
  }
}

void TicketOperation::Refused(absl::Time now, ViewNumber view) {
  if (view > state_.view) {
    awaiting_view_ = true;
  } else {
    due_ = now + state_.backoff().After(++refusals_);
  }
}

void TicketOperation::OnView(absl::Time now) {
  refusals_ = 0;
  if (active_ && awaiting_view_) Send(now);
}

void TicketOperation::OnPeerDown(absl::Time now, ShardIndex shard, const absl::Status& why) {
  if (active_ && shard == kTicketShard) Fail(now, absl::StatusCode::kUnavailable, why.message());
}

void TicketOperation::Abort(const absl::Status& why) {
  if (active_) End(why);
}

void TicketOperation::OnTick(absl::Time now) {
  if (!active_) return;
  if (now >= deadline_) {
    expired_ = true;
    return Fail(now, absl::StatusCode::kDeadlineExceeded, "not answered by the deadline");
  }
  if (!awaiting_view_ && now >= due_) Send(now);
}

absl::Time TicketOperation::next_tick() const {
  if (!active_) return absl::InfiniteFuture();
  return awaiting_view_ ? deadline_ : std::min(deadline_, due_);
}

void TicketOperation::Fail(absl::Time now, absl::StatusCode code, absl::string_view why) {
  absl::Status status(code,
                      absl::StrCat("step ticket at ", state_.NameOf(kTicketShard), " (",
                                   awaiting_view_ ? "waiting for a view" : "unanswered", ") after ",
                                   absl::FormatDuration(now - started_), ": ", why));
  // A shard that is gone, does not answer, or has fenced this worker: the worker cannot go on.
  if (code != absl::StatusCode::kInvalidArgument) {
    status = WithExitCode(std::move(status), ExitCode::kPeerLost);
  }
  End(std::move(status));
}

void TicketOperation::End(absl::StatusOr<TicketResult> result) {
  active_ = false;
  result_.emplace(std::move(result));
}

}  // namespace weir::client
