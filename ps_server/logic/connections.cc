#include "ps_server/logic/connections.h"

#include <algorithm>
#include <utility>

namespace weir::ps {

std::optional<Connection> Connections::Open(const Connection& connection) {
  std::optional<Connection> replaced;
  std::uint64_t& current = current_[connection.worker.value()];
  if (current != 0) {
    replaced = by_session_.at(current);
    Forget(current);
  }
  current = connection.session;
  by_session_[connection.session] = connection;
  return replaced;
}

void Connections::Remove(std::uint64_t session) {
  const auto found = by_session_.find(session);
  if (found == by_session_.end()) return;
  std::uint64_t& current = current_[found->second.worker.value()];
  if (current == session) current = 0;
  std::erase_if(fenced_, [&](const Fenced& fenced) { return fenced.session == session; });
  Forget(session);
}

std::vector<Connection> Connections::OnView(const Admission& admission, absl::Time now) {
  std::vector<Connection> to_close;
  for (std::uint64_t& current : current_) {
    if (current == 0) continue;
    const Connection& connection = by_session_.at(current);
    if (admission.IsLive(connection.worker, connection.incarnation)) continue;
    const auto earlier = std::ranges::find(fenced_, connection.worker, &Fenced::worker);
    if (earlier != fenced_.end()) {
      to_close.push_back(by_session_.at(earlier->session));
      Forget(earlier->session);
      fenced_.erase(earlier);
    }
    fenced_.push_back({std::exchange(current, 0), connection.worker, now + kFencedLinger});
  }
  return to_close;
}

std::vector<Connection> Connections::TakeExpired(absl::Time now) {
  std::vector<Connection> expired;
  for (const Fenced& fenced : fenced_) {
    if (fenced.until <= now) expired.push_back(by_session_.at(fenced.session));
  }
  for (const Connection& connection : expired) Remove(connection.session);
  return expired;
}

void Connections::Forget(std::uint64_t session) {
  by_session_.erase(session);
  if (removed_.size() < kRemembered) {
    removed_.push_back(session);
  } else {
    removed_[next_removed_] = session;
    next_removed_ = (next_removed_ + 1) % kRemembered;
  }
}

bool Connections::RecentlyRemoved(std::uint64_t session) const {
  return std::ranges::count(removed_, session) > 0;
}

const Connection* Connections::OfSession(std::uint64_t session) const {
  const auto found = by_session_.find(session);
  return found == by_session_.end() ? nullptr : &found->second;
}

const Connection* Connections::ForAnswer(WorkerIndex worker, std::uint64_t session) const {
  const Connection* connection = OfSession(session);
  if (connection != nullptr) return connection;
  return worker.value() < current_.size() ? OfSession(current_[worker.value()]) : nullptr;
}

const Connection* Connections::OfPeer(net::PeerId peer) const {
  const auto found = std::ranges::find_if(
      by_session_, [&](const auto& entry) { return entry.second.peer == peer; });
  return found == by_session_.end() ? nullptr : &found->second;
}

std::vector<Connection> Connections::All() const {
  std::vector<Connection> all;
  for (const auto& [session, connection] : by_session_) all.push_back(connection);
  return all;
}

}  // namespace weir::ps
