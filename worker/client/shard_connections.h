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
#include "worker/client/one_sided_reader.h"

namespace weir {

/// One open connection to each shard of a layout: the peer to send to, and the session that its
/// messages carry.
class ShardConnections {
 public:
  /// Waits for the given time, or less: an error ends the attempts.
  using Pause = std::function<absl::Status(absl::Duration)>;

  ShardConnections() = default;

  /// Connects to every shard (`on_read` hears of what is read from afar), asking again after a
  /// pause while a refusal may pass, up to the connect deadline. Errors: kFailedPrecondition (exit
  /// 2) for a permanent refusal, with the shard's reason; kDeadlineExceeded (exit 4) naming the
  /// shard.
  static absl::StatusOr<ShardConnections> Open(const Layout& layout,
                                               const DataClientOptions& options,
                                               net::Transport& transport,
                                               const ShardConnector& connector, const Pause& pause,
                                               const OneSidedReader::Done& on_read);

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
  /// What the shard is to be asked to do with memory that is pushed from; nothing: pushes carry
  /// their gradients.
  std::optional<wire::MemoryAccess> push_access(ShardIndex shard) const {
    return shards_[shard.value()].push_access;
  }
  /// The shard could not do what it was asked to: it is not asked again. Returns that as an error.
  absl::Status PushByMessage(ShardIndex shard);
  /// Reads from the shard's memory from afar; null where that is not so.
  OneSidedReader* reader(ShardIndex shard) const { return shards_[shard.value()].reader.get(); }
  /// Starts what was added to the readers; whether there was anything to start.
  bool StartReads() const;
  /// Reads from afar that are not done.
  std::size_t reads_outstanding() const;
  /// Lets go of all memory that is mapped or open: before its transport ends.
  void LetGoOfMemory();
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
    std::optional<wire::MemoryAccess> push_access;
    std::string not_mapped;  // why either is not
    std::unique_ptr<OneSidedReader> reader;
  };
  static absl::StatusOr<Connection> Join(const Layout& layout, const DataClientOptions& options,
                                         net::Transport& transport, ShardIndex shard,
                                         const wire::ConnectReplyT& reply,
                                         const OneSidedReader::Done& on_read);
  static absl::Status MapBothWays(const Layout& layout, const std::string& name,
                                  net::Transport& transport, ShardIndex shard,
                                  const wire::ConnectReplyT& reply, Connection& connection);

  std::vector<Connection> shards_;
  absl::flat_hash_map<std::uint64_t, ShardIndex> by_session_;
  Occurrences strangers_;
  std::uint64_t strangers_messages_ = 0;
};

}  // namespace weir
