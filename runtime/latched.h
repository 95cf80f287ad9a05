#pragma once

#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace weir {

/// A value that is set once and waited for by other threads.
template <typename T>
class Latched {
 public:
  /// The first value stays.
  void Set(T value) {
    MutexLock lock(&mutex_);
    if (!value_.has_value()) value_ = std::move(value);
    changed_.NotifyAll();
  }
  std::optional<T> Get() const {
    MutexLock lock(&mutex_);
    return value_;
  }
  /// Waits about `timeout` at most; empty where nothing is set by then. May return earlier.
  std::optional<T> WaitFor(absl::Duration timeout) const {
    MutexLock lock(&mutex_);
    if (!value_.has_value()) changed_.WaitFor(&mutex_, timeout);
    return value_;
  }

 private:
  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::optional<T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
