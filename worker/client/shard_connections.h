#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/arena/arena_reader.h"
#include "common/base/ids.h"
#include "common/base/occurrences.h"
#include "common/model/layout.h"
#include "common/net/transport.h"
#include "worker/client/data_client.h"
#include "worker/client/logic/client_logic.h"

namespace weir {

/// One open connection to each shard of a layout: the peer to send to, and the session that its
/// messages carry.
class ShardConnections {
 public:
  /// Waits for the given time, or less: an error ends the attempts.
  using Pause = std::function<absl::Status(absl::Duration)>;

  ShardConnections() = default;

  /// Connects to every shard, asking again after a pause while a refusal may pass, up to the
  /// connect deadline. Errors: kFailedPrecondition (exit 2) for a permanent refusal, with the
  /// shard's reason; kDeadlineExceeded (exit 4) naming the shard.
  static absl::StatusOr<ShardConnections> Open(const Layout& layout,
                                               const DataClientOptions& options,
                                               net::Transport& transport,
                                               const ShardConnector& connector, const Pause& pause);

  const ShardLink& link(ShardIndex shard) const { return shards_[shard.value()].link; }
  net::PeerId peer(ShardIndex shard) const { return shards_[shard.value()].peer; }
  /// The shard whose message carries this session: who does not know it is a stranger, whose
  /// message is to be dropped (docs/security.md). Strangers are counted, and logged now and then.
  std::optional<ShardIndex> ShardOf(std::uint64_t session);
  std::uint64_t strangers_messages() const { return strangers_messages_; }
  /// The shard's memory as it is mapped here; null where it is not.
  const arena::Reader* arena(ShardIndex shard) const {
    const auto& arena = shards_[shard.value()].arena;
    return arena.has_value() ? &*arena : nullptr;
  }
  /// Lets go of all mapped memory: before its transport ends.
  void Unmap();
  /// Empty for a peer that is none of ours.
  std::optional<ShardIndex> ShardOfPeer(net::PeerId peer) const;

  void CloseAll(net::Transport& transport) const;
  std::vector<std::pair<ShardIndex, std::string>> Paths(const net::Transport& transport) const;

 private:
  struct Connection {
    net::PeerId peer;
    ShardLink link;
    std::unique_ptr<net::MappedMemory> memory;
    std::optional<arena::Reader> arena;  // of `memory`
    std::string not_mapped;              // why it is not
  };
  static absl::StatusOr<Connection> Join(const Layout& layout, const DataClientOptions& options,
                                         net::Transport& transport, ShardIndex shard,
                                         const wire::ConnectReplyT& reply);

  std::vector<Connection> shards_;
  absl::flat_hash_map<std::uint64_t, ShardIndex> by_session_;
  Occurrences strangers_;
  std::uint64_t strangers_messages_ = 0;
};

}  // namespace weir
