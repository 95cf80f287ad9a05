#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "common/net/transport.h"

namespace weir::net {

/// One thing in a transport's inbox: a message, or the news that a port has closed.
struct LoopbackDelivery {
  // Like UCX's tcp, so that whoever takes payloads for aligned finds out in the unit tests.
  static constexpr std::size_t kMisalignment = 13;

  LoopbackDelivery(std::uint8_t type, ByteSpan header, ByteSpan payload)
      : type(type), header_bytes(header.size()), storage(kMisalignment + payload.size()) {
    if (!header.empty()) std::memcpy(this->header.data(), header.data(), header.size());
    if (!payload.empty()) {
      std::memcpy(storage.data() + kMisalignment, payload.data(), payload.size());
    }
  }
  explicit LoopbackDelivery(std::uint32_t closed_port) : closed_port(closed_port) {}

  ByteSpan payload() const { return ByteSpan(storage).subspan(kMisalignment); }

  std::uint32_t closed_port = 0;  // not 0: no message
  std::uint8_t type = 0;
  std::size_t header_bytes = 0;
  alignas(64) std::array<std::byte, kMaxHeaderBytes> header;
  std::vector<std::byte> storage;
};

/// The inbox of one transport and what its owner sleeps on. Thread-safe; never holds its lock while
/// it calls another port.
class LoopbackPort {
 public:
  enum class Accepted { kYes, kFull, kClosed };

  LoopbackPort(std::uint32_t number, std::size_t capacity) : number_(number), capacity_(capacity) {}

  std::uint32_t number() const { return number_; }

  /// Copies a message into the inbox. When full, `sender` is told by TellRoom once that is over.
  Accepted TryPush(std::uint8_t type, ByteSpan header, ByteSpan payload,
                   const std::shared_ptr<LoopbackPort>& sender) {
    // Filled before the lock is taken.
    LoopbackDelivery delivery(type, header, payload);
    MutexLock lock(&mutex_);
    if (closed_) return Accepted::kClosed;
    if (inbox_.size() >= capacity_) {
      waiting_.push_back(sender);
      return Accepted::kFull;
    }
    inbox_.push_back(std::move(delivery));
    changed_.NotifyAll();
    return Accepted::kYes;
  }

  /// The news that port `number` has closed; never refused, there is one for each port.
  void PushClosed(std::uint32_t number) {
    MutexLock lock(&mutex_);
    inbox_.emplace_back(number);
    changed_.NotifyAll();
  }

  /// Moves up to `limit` deliveries to the end of `out`.
  void Take(std::size_t limit, std::vector<LoopbackDelivery>& out) {
    std::vector<std::shared_ptr<LoopbackPort>> waiting;
    {
      MutexLock lock(&mutex_);
      for (; limit > 0 && !inbox_.empty(); --limit) {
        out.push_back(std::move(inbox_.front()));
        inbox_.pop_front();
      }
      if (inbox_.size() < capacity_) waiting.swap(waiting_);
    }
    for (const auto& port : waiting) port->TellRoom();
  }

  /// Whether a full inbox that this port's owner sent to has room since the last call.
  bool TakeRoom() {
    MutexLock lock(&mutex_);
    return std::exchange(room_, false);
  }

  void Close() {
    std::vector<std::shared_ptr<LoopbackPort>> waiting;
    std::deque<LoopbackDelivery> unread;
    {
      MutexLock lock(&mutex_);
      closed_ = true;
      waiting.swap(waiting_);
      unread.swap(inbox_);
    }
    for (const auto& port : waiting) port->TellRoom();
  }

  void Wake() {
    MutexLock lock(&mutex_);
    woken_ = true;
    changed_.NotifyAll();
  }

  /// Returns at a delivery, at room, after Wake or at `deadline` (of MonotonicNow).
  void WaitUntil(absl::Time deadline);

 private:
  void TellRoom() {
    MutexLock lock(&mutex_);
    room_ = true;
    changed_.NotifyAll();
  }

  const std::uint32_t number_;
  const std::size_t capacity_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<LoopbackDelivery> inbox_ ABSL_GUARDED_BY(mutex_);
  // Senders that found the inbox full.
  std::vector<std::shared_ptr<LoopbackPort>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool room_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weir::net
