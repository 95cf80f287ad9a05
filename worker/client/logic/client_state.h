#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/ids.h"
#include "common/model/layout.h"
#include "worker/client/logic/client_logic.h"

namespace weir::client {

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
  absl::Status NotConnected(ShardIndex shard) const;
  std::string NameOf(ShardIndex shard) const;

  const Layout& layout;
  const ClientLogicOptions options;
  ClientOutput& output;
  ViewNumber view;
  std::vector<Link> links;               ///< by shard
  std::vector<std::uint32_t> positions;  ///< by block
  std::vector<Version> versions;         ///< by block, as last pulled
  std::uint64_t dropped = 0;
};

}  // namespace weir::client
