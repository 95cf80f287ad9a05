#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "worker/client/logic/block_operation.h"

namespace weir::client {

/// One push at a time: each block's gradient to its shard, once it exists; done when all are
/// acknowledged and no send reads the gradients any more.
class PushOperation final : public BlockOperation {
 public:
  explicit PushOperation(ClientState& state);

  void OnConnected(ShardIndex shard) {
    window(shard).set_credits(state_.links[shard.value()].link.push_credits);
  }
  /// A push of gradients that all exist already.
  void Start(absl::Time now, Step step, absl::Time deadline);
  /// A push whose gradients are yet to be computed.
  void StartHeld(absl::Time now, Step step, absl::Time deadline);
  /// The gradient of the blocks from `first` up to `end`, computed from the versions pulled last,
  /// exists.
  void GradientsReady(absl::Time now, BlockId first, BlockId end);
  /// The block that is now acknowledged and was not before, if there is one.
  std::optional<BlockId> OnAck(absl::Time now, ShardIndex shard, const wire::PushAck& ack);
  void OnSent(absl::Time now, BlockId block);

  int sends_outstanding() const { return reading(); }
  Sequence sequence() const { return sequence_; }  ///< of the push under way, or the last
  WorkerClock clock() const { return clock_; }
  std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  void Send(ShardIndex shard, BlockRun run) override;
  std::size_t most_in_a_row() const override { return 1; }
  void Done() override;

  Sequence sequence_;
  Step step_;
  WorkerClock clock_;
  std::uint64_t acknowledged_ = 0;
  // As when each gradient was ready: what is pulled later is not what it came from.
  std::vector<Version> base_versions_;
};

}  // namespace weir::client
