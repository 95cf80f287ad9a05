#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace weir {

/// A queue of at most `capacity` items between threads. When full, `TryPush` refuses and `Push`
/// waits; after `Close` pushes are refused and pops drain what is left.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  /// False when full or closed; `item` is then untouched.
  bool TryPush(T&& item) {
    MutexLock lock(&mutex_);
    if (closed_ || items_.size() >= capacity_) return false;
    items_.push_back(std::move(item));
    changed_.NotifyAll();
    return true;
  }

  /// Waits for room. False once closed.
  bool Push(T item) {
    MutexLock lock(&mutex_);
    while (!closed_ && items_.size() >= capacity_) changed_.Wait(&mutex_);
    if (closed_) return false;
    items_.push_back(std::move(item));
    changed_.NotifyAll();
    return true;
  }

  std::optional<T> TryPop() {
    MutexLock lock(&mutex_);
    return PopLocked();
  }

  /// Waits for an item. Empty once closed and drained.
  std::optional<T> Pop() {
    MutexLock lock(&mutex_);
    while (!closed_ && items_.empty()) changed_.Wait(&mutex_);
    return PopLocked();
  }

  /// Like Pop, but waits no longer than about `timeout`; may return empty earlier.
  std::optional<T> PopFor(absl::Duration timeout) {
    MutexLock lock(&mutex_);
    if (!closed_ && items_.empty()) changed_.WaitFor(&mutex_, timeout);
    return PopLocked();
  }

  void Close() {
    MutexLock lock(&mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }

  bool closed() const {
    MutexLock lock(&mutex_);
    return closed_;
  }

 private:
  std::optional<T> PopLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    changed_.NotifyAll();
    return item;
  }

  const std::size_t capacity_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<T> items_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weir
