#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/ids.h"
#include "common/model/layout.h"
#include "worker/client/logic/backoff.h"
#include "worker/client/logic/client_logic.h"

namespace weir::client {

/// The shard with the step counter.
inline constexpr ShardIndex kTicketShard{0};

/// One shard as the client knows it.
struct Link {
  bool connected = false;
  ShardLink link;
  absl::Status down;  ///< why it is not connected any more
};

/// What a client's operations share.
struct ClientState {
  ClientState(const Layout& layout, const ClientLogicOptions& options, ClientOutput& output);

  /// Whether a reply from `shard` with `session` belongs to the connection we know.
  bool Knows(ShardIndex shard, std::uint64_t session) const;
  /// The position of `block` among those of its shard.
  std::size_t position(BlockId block) const { return positions[block.value()]; }
  BlockId block_at(ShardIndex shard, std::size_t position) const {
    return layout.blocks_of(shard)[position];
  }
  /// One past the last block.
  BlockId end_block() const { return BlockId(static_cast<std::uint32_t>(positions.size())); }
  /// The blocks of a tensor are those from its first one up to that of the next tensor.
  BlockId first_block(std::size_t tensor) const { return BlockId(first_blocks[tensor]); }
  Backoff backoff() const { return {options.busy_backoff, options.busy_backoff_most}; }
  absl::Status NotConnected(ShardIndex shard) const;
  std::string NameOf(ShardIndex shard) const;

  const Layout& layout;
  const ClientLogicOptions options;
  ClientOutput& output;
  ViewNumber view;
  std::vector<Link> links;                  ///< by shard
  std::vector<std::uint32_t> positions;     ///< by block
  std::vector<std::uint32_t> first_blocks;  ///< by tensor, and one more for the end
  std::vector<Version> versions;            ///< by block, as last pulled
  std::vector<Version> acknowledged;        ///< by block: contains the last push acknowledged
  std::uint64_t dropped = 0;
};

}  // namespace weir::client
