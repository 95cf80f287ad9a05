#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/ids.h"
#include "common/net/transport.h"

namespace weir::ps {

/// One worker's open connection.
struct Connection {
  WorkerIndex worker;
  Incarnation incarnation;
  net::PeerId peer;
  std::uint64_t session = 0;  ///< a secret of the two ends: never log it
};

/// The workers that are connected: at most one connection each, found by session (of a message), by
/// worker (of an answer) or by peer (of a failure). Threading: one owner.
class PeerTable {
 public:
  explicit PeerTable(int max_workers) : by_worker_(static_cast<std::size_t>(max_workers)) {}

  /// Replaces what this worker had; the caller has closed that before.
  void Insert(const Connection& connection);
  void Remove(WorkerIndex worker);

  const Connection* OfSession(std::uint64_t session) const;
  /// Whether it was one of the last connections that were removed: its messages may still arrive.
  bool RecentlyRemoved(std::uint64_t session) const;
  const Connection* OfWorker(WorkerIndex worker) const;
  const Connection* OfPeer(net::PeerId peer) const;
  std::size_t max_workers() const { return by_worker_.size(); }

 private:
  std::vector<std::optional<Connection>> by_worker_;
  absl::flat_hash_map<std::uint64_t, WorkerIndex> by_session_;
  static constexpr std::size_t kRemembered = 256;
  std::vector<std::uint64_t> removed_;  // a ring of at most kRemembered
  std::size_t next_removed_ = 0;
};

}  // namespace weir::ps
