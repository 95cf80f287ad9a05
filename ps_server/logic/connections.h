#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "common/net/transport.h"
#include "ps_server/logic/admission.h"

namespace weir::ps {

/// One worker's open connection.
struct Connection {
  WorkerIndex worker;
  Incarnation incarnation;
  net::PeerId peer;
  std::uint64_t session = 0;  ///< a secret of the two ends: never log it
};

/// The workers that are connected. Each has one current connection, found by worker too; one whose
/// worker was fenced stays open for a while beside it, so that whoever lives on without knowing
/// hears Fenced instead of nothing. Threading: one owner.
class Connections {
 public:
  /// A fenced worker that is alive asks again within a client's repetition (2 s).
  static constexpr absl::Duration kFencedLinger = absl::Seconds(5);

  explicit Connections(int max_workers) : current_(static_cast<std::size_t>(max_workers)) {}

  /// Adds a connection and returns the one that it takes the place of, to be closed: the worker's
  /// earlier one of the same incarnation.
  std::optional<Connection> Open(const Connection& connection);
  /// Forgets it: it has been closed.
  void Remove(std::uint64_t session);

  /// Fences the connections of workers that are no longer in the view. Returns those to be closed
  /// at once: a worker's earlier fenced one makes room for the next.
  std::vector<Connection> OnView(const Admission& admission, absl::Time now);
  /// The fenced ones whose time is over: to be closed, and already forgotten.
  std::vector<Connection> TakeExpired(absl::Time now);
  bool any_fenced() const { return !fenced_.empty(); }

  const Connection* OfSession(std::uint64_t session) const;
  /// Whether it was one of the last connections that went: its messages may still arrive.
  bool RecentlyRemoved(std::uint64_t session) const;
  /// Where an answer to `session` goes. A session that is over has only answers that had to wait,
  /// and these are for the worker's current connection.
  const Connection* ForAnswer(WorkerIndex worker, std::uint64_t session) const;
  const Connection* OfPeer(net::PeerId peer) const;
  /// Of every connection, fenced ones too.
  std::vector<Connection> All() const;

 private:
  struct Fenced {
    std::uint64_t session = 0;
    WorkerIndex worker;
    absl::Time until;
  };

  void Forget(std::uint64_t session);

  static constexpr std::size_t kRemembered = 256;
  absl::flat_hash_map<std::uint64_t, Connection> by_session_;
  std::vector<std::uint64_t> current_;  // sessions, by worker; 0: none
  std::vector<Fenced> fenced_;          // at most one a worker
  std::vector<std::uint64_t> removed_;  // a ring of at most kRemembered
  std::size_t next_removed_ = 0;
};

}  // namespace weir::ps
