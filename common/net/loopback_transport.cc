#include "common/net/loopback_transport.h"

#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/net/loopback_memory.h"

namespace weir::net {
namespace {

constexpr absl::string_view kAddressPrefix = "loopback:";
// One call of Progress delivers no more than this, so that its owner gets to its timers.
constexpr std::size_t kBatch = 64;

absl::Status DownStatus(absl::string_view name) {
  return absl::UnavailableError(
      absl::StrCat("the connection to ", name, " is lost: it has closed"));
}

absl::Status DisconnectedStatus(absl::string_view name) {
  return absl::CancelledError(absl::StrCat("disconnected from ", name));
}

}  // namespace

LoopbackTransport::~LoopbackTransport() {
  for (auto& [id, peer] : peers_) FailPending(*peer, DisconnectedStatus(peer->name));
  fabric_->RemovePort(port_->number());
  peers_.clear();  // so that the gets are cancelled
  if (last_events_ != nullptr) {
    ReportSends(*last_events_);
    RunGets(*last_events_);
  }
}

std::string LoopbackTransport::address() const {
  return absl::StrCat(kAddressPrefix, port_->number());
}

absl::StatusOr<PeerId> LoopbackTransport::Connect(const std::string& address,
                                                  const std::string& name) {
  absl::string_view digits = address;
  std::uint32_t number = 0;
  if (!absl::ConsumePrefix(&digits, kAddressPrefix) || !absl::SimpleAtoi(digits, &number) ||
      number == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a loopback address: ", address.size(), " bytes"));
  }
  last_peer_ = last_peer_.next();
  auto peer = std::make_unique<Peer>();
  peer->name = name;
  peer->port = fabric_->FindPort(number);
  if (peer->port == nullptr) {
    peer->down = true;
    downs_.push_back(last_peer_);
  }
  peers_.emplace(last_peer_, std::move(peer));
  return last_peer_;
}

void LoopbackTransport::Disconnect(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  FailPending(*found->second, DisconnectedStatus(found->second->name));
  peers_.erase(found);
}

absl::StatusOr<std::unique_ptr<Memory>> LoopbackTransport::Allocate(std::size_t bytes) {
  if (bytes == 0) return absl::InvalidArgumentError("cannot register 0 bytes");
  auto storage = std::make_shared<LoopbackStorage>(bytes);
  std::string key = fabric_->AddStorage(storage);
  return std::make_unique<LoopbackMemory>(std::move(storage), std::move(key));
}

absl::StatusOr<std::unique_ptr<MappedMemory>> LoopbackTransport::Map(PeerId owner,
                                                                     const std::string& key,
                                                                     std::size_t bytes) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<LoopbackStorage> storage, StorageOf(owner, key, bytes));
  return std::make_unique<LoopbackMappedMemory>(std::move(storage), bytes);
}

absl::StatusOr<std::shared_ptr<LoopbackStorage>> LoopbackTransport::StorageOf(
    PeerId owner, const std::string& key, std::size_t bytes) {
  if (!peers_.contains(owner)) return absl::NotFoundError("there is no such peer");
  std::shared_ptr<LoopbackStorage> storage = fabric_->FindStorage(key);
  if (storage == nullptr || bytes == 0 || bytes > storage->bytes().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no loopback memory of ", bytes, " bytes has this key"));
  }
  return storage;
}

absl::Status LoopbackTransport::CheckSend(const Peer* peer, std::uint8_t type, ByteSpan header,
                                          ByteSpan payload) const {
  if (peer == nullptr) return absl::NotFoundError("there is no such peer");
  if (type == 0 || type > kMaxMessageType || header.size() > kMaxHeaderBytes ||
      payload.size() > kMaxPayloadBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of type ", type, " with ", header.size(), " + ", payload.size(),
                     " bytes to ", peer->name, " is beyond the limits"));
  }
  return peer->down ? DownStatus(peer->name) : absl::OkStatus();
}

void LoopbackTransport::Send(PeerId id, std::uint8_t type, ByteSpan header, ByteSpan payload,
                             const Memory*, SendToken token) {
  const auto found = peers_.find(id);
  Peer* peer = found == peers_.end() ? nullptr : found->second.get();
  if (absl::Status status = CheckSend(peer, type, header, payload); !status.ok()) {
    completions_.push_back({token, std::move(status)});
    return;
  }
  if (peer->pending.empty()) {
    switch (peer->port->TryPush(type, header, payload, port_)) {
      case LoopbackPort::Accepted::kYes:
        completions_.push_back({token, absl::OkStatus()});
        return;
      case LoopbackPort::Accepted::kClosed:
        completions_.push_back({token, DownStatus(peer->name)});
        return;
      case LoopbackPort::Accepted::kFull:
        break;
    }
  }
  Pending& pending = peer->pending.emplace_back();
  pending.type = type;
  pending.header_bytes = header.size();
  if (!header.empty()) std::memcpy(pending.header.data(), header.data(), header.size());
  pending.payload = payload;
  pending.token = token;
}

void LoopbackTransport::FlushPending() {
  for (auto& [id, peer] : peers_) {
    while (!peer->pending.empty()) {
      const Pending& next = peer->pending.front();
      const LoopbackPort::Accepted accepted = peer->port->TryPush(
          next.type, ByteSpan(next.header.data(), next.header_bytes), next.payload, port_);
      if (accepted == LoopbackPort::Accepted::kFull) break;
      completions_.push_back({next.token, accepted == LoopbackPort::Accepted::kYes
                                              ? absl::OkStatus()
                                              : DownStatus(peer->name)});
      peer->pending.pop_front();
    }
  }
}

void LoopbackTransport::FailPending(Peer& peer, const absl::Status& status) {
  for (const Pending& pending : peer.pending) completions_.push_back({pending.token, status});
  peer.pending.clear();
}

bool LoopbackTransport::Progress(TransportEvents& events) {
  last_events_ = &events;
  if (port_->TakeRoom()) FlushPending();
  bool any = Deliver(events);
  any |= RunGets(events);
  any |= ReportSends(events);
  any |= ReportDowns(events);
  return any;
}

bool LoopbackTransport::Deliver(TransportEvents& events) {
  std::vector<LoopbackDelivery> batch;
  port_->Take(kBatch, batch);
  for (const LoopbackDelivery& delivery : batch) {
    if (delivery.closed_port != 0) {
      MarkDown(delivery.closed_port);
    } else {
      events.OnMessage(delivery.type, ByteSpan(delivery.header.data(), delivery.header_bytes),
                       delivery.payload());
    }
  }
  return !batch.empty();
}

void LoopbackTransport::MarkDown(std::uint32_t closed_port) {
  for (auto& [id, peer] : peers_) {
    if (peer->down || peer->port->number() != closed_port) continue;
    peer->down = true;
    FailPending(*peer, DownStatus(peer->name));
    downs_.push_back(id);
  }
}

bool LoopbackTransport::ReportSends(TransportEvents& events) {
  const std::vector<Completion> reporting = std::exchange(completions_, {});
  for (const Completion& completion : reporting) {
    events.OnSent(completion.token, completion.status);
  }
  return !reporting.empty();
}

bool LoopbackTransport::ReportDowns(TransportEvents& events) {
  const std::vector<PeerId> reporting = std::exchange(downs_, {});
  for (const PeerId id : reporting) {
    const auto found = peers_.find(id);
    if (found != peers_.end()) events.OnPeerDown(id, DownStatus(found->second->name));
  }
  return !reporting.empty();
}

void LoopbackTransport::Wait(absl::Duration timeout) {
  if (!completions_.empty() || !downs_.empty() || !gets_.empty()) return;
  port_->WaitUntil(MonotonicNow() + timeout);
}

}  // namespace weir::net
