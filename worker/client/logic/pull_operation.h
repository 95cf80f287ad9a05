#pragma once

#include <limits>

#include "common/base/bytes.h"
#include "worker/client/logic/block_operation.h"

namespace weir::client {

/// One pull at a time: every block from its shard, each whole and delivered once.
class PullOperation final : public BlockOperation {
 public:
  explicit PullOperation(ClientState& state) : BlockOperation(state, "pull") {}

  void OnConnected(ShardIndex shard) {
    window(shard).set_credits(state_.links[shard.value()].link.pull_credits);
  }
  void Start(absl::Time now, absl::Time deadline);
  void OnBlock(absl::Time now, ShardIndex shard, const wire::PullBlock& header, ByteSpan payload);

 private:
  void Send(ShardIndex shard, BlockRun run) override;
  std::size_t most_in_a_row() const override { return std::numeric_limits<std::size_t>::max(); }
  void Done() override {}

  bool Fits(ShardIndex shard, const wire::PullBlock& header, ByteSpan payload);

  RequestId request_;
};

}  // namespace weir::client
