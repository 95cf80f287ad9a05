#include "common/net/loopback.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/net/loopback_memory.h"
#include "common/net/loopback_port.h"
#include "common/net/loopback_transport.h"

namespace weir::net {

std::shared_ptr<LoopbackFabric> LoopbackFabric::Create(std::size_t inbox_capacity) {
  return std::shared_ptr<LoopbackFabric>(new LoopbackFabric(inbox_capacity));
}

std::unique_ptr<Transport> LoopbackFabric::CreateTransport() {
  std::shared_ptr<LoopbackPort> port;
  {
    MutexLock lock(&mutex_);
    port = std::make_shared<LoopbackPort>(++last_number_, inbox_capacity_);
    ports_.emplace(port->number(), port);
  }
  return std::make_unique<LoopbackTransport>(shared_from_this(), std::move(port));
}

std::shared_ptr<LoopbackPort> LoopbackFabric::FindPort(std::uint32_t number) {
  MutexLock lock(&mutex_);
  const auto found = ports_.find(number);
  return found == ports_.end() ? nullptr : found->second;
}

// Whoever found the port before is in `others`, and so learns that it closed.
void LoopbackFabric::RemovePort(std::uint32_t number) {
  std::shared_ptr<LoopbackPort> port;
  std::vector<std::shared_ptr<LoopbackPort>> others;
  {
    MutexLock lock(&mutex_);
    port = std::move(ports_[number]);
    ports_.erase(number);
    for (const auto& [unused, other] : ports_) others.push_back(other);
  }
  port->Close();
  for (const auto& other : others) other->PushClosed(number);
}

std::string LoopbackFabric::AddStorage(const std::shared_ptr<LoopbackStorage>& storage) {
  MutexLock lock(&mutex_);
  absl::erase_if(storages_, [](const auto& entry) { return entry.second.expired(); });
  std::string key = absl::StrCat("loopback memory ", ++last_storage_);
  storages_.emplace(key, storage);
  return key;
}

std::shared_ptr<LoopbackStorage> LoopbackFabric::FindStorage(const std::string& key) {
  MutexLock lock(&mutex_);
  const auto found = storages_.find(key);
  return found == storages_.end() ? nullptr : found->second.lock();
}

void LoopbackPort::WaitUntil(absl::Time deadline) {
  MutexLock lock(&mutex_);
  while (inbox_.empty() && !woken_ && !room_) {
    const absl::Duration left = deadline - MonotonicNow();
    if (left <= absl::ZeroDuration()) break;
    changed_.WaitFor(&mutex_, left);
  }
  woken_ = false;
}

}  // namespace weir::net
