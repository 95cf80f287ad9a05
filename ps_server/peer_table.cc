#include "ps_server/peer_table.h"

#include <algorithm>

namespace weir::ps {

void PeerTable::Insert(const Connection& connection) {
  Remove(connection.worker);
  by_worker_[connection.worker.value()] = connection;
  by_session_[connection.session] = connection.worker;
}

void PeerTable::Remove(WorkerIndex worker) {
  std::optional<Connection>& entry = by_worker_[worker.value()];
  if (!entry.has_value()) return;
  by_session_.erase(entry->session);
  if (removed_.size() < kRemembered) {
    removed_.push_back(entry->session);
  } else {
    removed_[next_removed_] = entry->session;
    next_removed_ = (next_removed_ + 1) % kRemembered;
  }
  entry.reset();
}

const Connection* PeerTable::OfSession(std::uint64_t session) const {
  const auto found = by_session_.find(session);
  return found == by_session_.end() ? nullptr : OfWorker(found->second);
}

bool PeerTable::RecentlyRemoved(std::uint64_t session) const {
  return std::ranges::count(removed_, session) > 0;
}

const Connection* PeerTable::OfWorker(WorkerIndex worker) const {
  if (worker.value() >= by_worker_.size()) return nullptr;
  const auto& entry = by_worker_[worker.value()];
  return entry.has_value() ? &*entry : nullptr;
}

const Connection* PeerTable::OfPeer(net::PeerId peer) const {
  const auto found = std::ranges::find_if(
      by_worker_, [&](const auto& entry) { return entry.has_value() && entry->peer == peer; });
  return found == by_worker_.end() ? nullptr : &**found;
}

}  // namespace weir::ps
