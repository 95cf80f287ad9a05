#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "common/base/bytes.h"
#include "worker/client/logic/block_operation.h"

namespace weir::client {

/// One pull at a time: every block from its shard, each whole and delivered once.
class PullOperation final : public BlockOperation {
 public:
  explicit PullOperation(ClientState& state);

  void OnConnected(ShardIndex shard) {
    window(shard).set_credits(state_.links[shard.value()].link.pull_credits);
  }
  /// Asks for every block. A pull that is under way ends: what still comes of it is dropped.
  void Start(absl::Time now, absl::Time deadline);
  /// The same, but asks for no block before Ask.
  void StartHeld(absl::Time now, absl::Time deadline);
  void Ask(absl::Time now, BlockId block);
  /// Whether every block of `tensor` was delivered since the start.
  bool Here(std::size_t tensor) const { return missing_[tensor] == 0; }
  RequestId request() const { return request_; }
  void OnRead(absl::Time now, BlockId block, std::optional<Version> version);
  void OnBlock(absl::Time now, ShardIndex shard, const wire::PullBlock& header, ByteSpan payload);

 private:
  void Send(ShardIndex shard, BlockRun run) override;
  void Request(ShardIndex shard, BlockRun run);
  MappedRead ReadOf(ShardIndex shard, std::size_t position) const;
  bool Read(ShardIndex shard, std::size_t position);
  bool StartRead(ShardIndex shard, std::size_t position);
  /// False if it was delivered before.
  bool Deliver(ShardIndex shard, BlockId block, Version version);
  std::size_t most_in_a_row() const override { return std::numeric_limits<std::size_t>::max(); }
  void Done() override {}

  RequestId request_;
  std::vector<std::uint32_t> missing_;  // by tensor: its blocks that were not delivered
  std::vector<bool> by_message_;        // by block: asked for so, by this pull
};

}  // namespace weir::client
