#pragma once

#include <cstddef>
#include <vector>

#include "absl/time/time.h"
#include "common/base/ids.h"
#include "worker/client/logic/client_state.h"
#include "worker/client/logic/pull_operation.h"
#include "worker/client/logic/push_operation.h"

namespace weir::client {

/// What one step of training exchanges with the shards while it is computed: the push of its
/// gradients, tensor by tensor as they become ready, and behind it the pull of the next step's
/// weights, in which each block is asked for once its own push is acknowledged. So what is pulled
/// contains this worker's own update, and never replaces a weight that is still being read.
///
/// It may start while the pull for its own step is still under way: gradients that are ready before
/// that pull is complete wait for it, since one pull at a time can be. Its result is the push's.
class StepExchange {
 public:
  StepExchange(const ClientState& state, PushOperation& push, PullOperation& pull);

  void Start(absl::Time now, Step step, absl::Time deadline);
  bool active() const { return active_; }

  /// The gradient of `tensor` is final and its weights are read no more. False, and no effect, if
  /// that was said before, or no exchange is active.
  bool GradientReady(absl::Time now, std::size_t tensor);
  bool GradientIsReady(std::size_t tensor) const { return ready_[tensor]; }
  bool all_ready() const { return not_ready_ == 0; }
  /// Whether the weights of `tensor` are this step's: pulled, and its gradient not ready yet.
  bool WeightsHere(std::size_t tensor) const;

  /// Ends it, while no gradient is ready yet, with kCancelled.
  void Cancel(absl::Time now);

  void OnAcknowledged(absl::Time now, BlockId block);
  /// To be called after whatever may have ended the push or the pull.
  void Proceed(absl::Time now);

 private:
  void FollowPush(absl::Time now);
  void Push(absl::Time now, std::size_t tensor);

  const ClientState& state_;
  PushOperation& push_;
  PullOperation& pull_;
  bool active_ = false;
  bool following_ = false;   // the pull is the next step's
  std::vector<bool> ready_;  // by tensor
  std::size_t not_ready_ = 0;
};

}  // namespace weir::client
