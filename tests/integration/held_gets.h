#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/net/transport.h"

namespace weir::testing {

/// Tells a HoldingTransport when gets are to be under way for long, as those to a host that is gone
/// are. Thread-safe.
class HeldGets {
 public:
  /// The next `gets` gets do not start before LetGo.
  void Hold(std::size_t gets) {
    MutexLock lock(&mutex_);
    to_hold_ = gets;
  }
  void LetGo() {
    MutexLock lock(&mutex_);
    to_hold_ = 0;
    ++let_go_;
  }
  /// Whether so many are held, 20 s from now at the latest.
  bool Await(std::size_t gets) {
    const absl::Time give_up = MonotonicNow() + absl::Seconds(20);
    MutexLock lock(&mutex_);
    while (held_ < gets && MonotonicNow() < give_up) {
      changed_.WaitFor(&mutex_, absl::Milliseconds(100));
    }
    return held_ >= gets;
  }
  std::size_t held() {
    MutexLock lock(&mutex_);
    return held_;
  }

  // For the transport.
  bool TakeOne() {
    MutexLock lock(&mutex_);
    if (to_hold_ == 0) return false;
    --to_hold_;
    ++held_;
    changed_.NotifyAll();
    return true;
  }
  void HoldsNone() {
    MutexLock lock(&mutex_);
    held_ = 0;
  }
  std::size_t times_let_go() {
    MutexLock lock(&mutex_);
    return let_go_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::size_t to_hold_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t held_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t let_go_ ABSL_GUARDED_BY(mutex_) = 0;
};

/// Another transport, whose gets `gets` may hold up. A disconnect ends what is held with whatever
/// the other transport says of gets of that moment.
class HoldingTransport final : public net::Transport {
 public:
  HoldingTransport(std::unique_ptr<net::Transport> inner, std::shared_ptr<HeldGets> gets)
      : inner_(std::move(inner)), gets_(std::move(gets)) {}

  std::string address() const override { return inner_->address(); }
  absl::StatusOr<net::PeerId> Connect(const std::string& address,
                                      const std::string& name) override {
    return inner_->Connect(address, name);
  }
  void Disconnect(net::PeerId peer) override {
    StartHeld();
    inner_->Disconnect(peer);
  }
  absl::StatusOr<std::unique_ptr<net::Memory>> Allocate(std::size_t bytes) override {
    return inner_->Allocate(bytes);
  }
  absl::StatusOr<std::unique_ptr<net::MappedMemory>> Map(net::PeerId owner, const std::string& key,
                                                         std::size_t bytes) override {
    return inner_->Map(owner, key, bytes);
  }
  absl::StatusOr<std::unique_ptr<net::RemoteMemory>> Open(net::PeerId owner, const std::string& key,
                                                          std::size_t bytes) override {
    return inner_->Open(owner, key, bytes);
  }
  void Get(const net::RemoteMemory& from, std::size_t offset, MutableByteSpan into,
           const net::Memory& memory, net::GetToken token) override {
    if (!gets_->TakeOne()) return inner_->Get(from, offset, into, memory, token);
    held_.push_back({&from, offset, into, &memory, token});
  }
  void Send(net::PeerId peer, std::uint8_t type, ByteSpan header, ByteSpan payload,
            const net::Memory* memory, net::SendToken token) override {
    inner_->Send(peer, type, header, payload, memory, token);
  }
  bool Progress(net::TransportEvents& events) override {
    if (const std::size_t times = gets_->times_let_go(); times != let_go_) {
      let_go_ = times;
      StartHeld();
    }
    return inner_->Progress(events);
  }
  void Wait(absl::Duration timeout) override {
    // What LetGo says wakes nobody.
    inner_->Wait(held_.empty() ? timeout : std::min(timeout, absl::Milliseconds(1)));
  }
  void Wake() override { inner_->Wake(); }
  std::string PathTo(net::PeerId peer) const override { return inner_->PathTo(peer); }

 private:
  struct Held {
    const net::RemoteMemory* from;
    std::size_t offset;
    MutableByteSpan into;
    const net::Memory* memory;
    net::GetToken token;
  };
  void StartHeld() {
    for (const Held& get : std::exchange(held_, {})) {
      inner_->Get(*get.from, get.offset, get.into, *get.memory, get.token);
    }
    gets_->HoldsNone();
  }

  const std::unique_ptr<net::Transport> inner_;
  const std::shared_ptr<HeldGets> gets_;
  std::vector<Held> held_;
  std::size_t let_go_ = 0;
};

}  // namespace weir::testing
