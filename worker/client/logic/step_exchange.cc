#include "worker/client/logic/step_exchange.h"

#include <cassert>

namespace weir::client {

StepExchange::StepExchange(const ClientState& state, PushOperation& push, PullOperation& pull)
    : state_(state), push_(push), pull_(pull), ready_(state.layout.tensors().size()) {}

void StepExchange::Start(absl::Time now, Step step, absl::Time deadline) {
  assert(!active_);
  active_ = true;
  following_ = false;
  ready_.assign(ready_.size(), false);
  not_ready_ = ready_.size();
  push_.StartHeld(now, step, deadline);
  Proceed(now);
}

bool StepExchange::GradientReady(absl::Time now, std::size_t tensor) {
  if (!active_ || ready_[tensor]) return false;
  ready_[tensor] = true;
  --not_ready_;
  if (following_) Push(now, tensor);
  Proceed(now);
  return true;
}

bool StepExchange::WeightsHere(std::size_t tensor) const {
  return active_ && !ready_[tensor] && (following_ || pull_.Here(tensor));
}

void StepExchange::Cancel(absl::Time now) {
  assert(not_ready_ == ready_.size());
  push_.Abort(now, absl::CancelledError("the step was given back"));
  Proceed(now);
}

void StepExchange::OnAcknowledged(absl::Time now, BlockId block) {
  if (following_) pull_.Ask(now, block);
}

void StepExchange::Proceed(absl::Time now) {
  if (!active_) return;
  if (!following_ && !pull_.active()) {
    if (pull_.result() && !pull_.result()->ok()) push_.Abort(now, *pull_.result());
    if (push_.active()) FollowPush(now);
  }
  if (push_.active()) return;
  const bool failed = !push_.result()->ok();
  // Nothing more will be acknowledged, so what is still held would be held for ever.
  if (failed && following_) pull_.Abort(now, *push_.result());
  // A tensor without elements may still be to come: the push does not wait for those.
  if (failed || all_ready()) active_ = following_ = false;
}

void StepExchange::FollowPush(absl::Time now) {
  following_ = true;
  pull_.StartHeld(now, push_.deadline());
  for (std::size_t tensor = 0; tensor < ready_.size(); ++tensor) {
    if (ready_[tensor]) Push(now, tensor);
  }
}

void StepExchange::Push(absl::Time now, std::size_t tensor) {
  push_.GradientsReady(now, state_.first_block(tensor), state_.first_block(tensor + 1));
}

}  // namespace weir::client
