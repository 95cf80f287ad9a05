#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace weir {

/// Turns the first SIGTERM or SIGINT of this process into one call; the second of either ends the
/// process as the signal would have. At most one instance at a time; create it before other threads
/// start.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// True from the first signal on. Any thread; also without an instance.
  static bool received();

  /// Keeps a callback registered; once it is gone the callback is not running and never will.
  class Registration {
   public:
    Registration() = default;
    Registration(Registration&& other) noexcept { *this = std::move(other); }
    Registration& operator=(Registration&& other) noexcept;
    ~Registration();

   private:
    friend class StopSignal;
    Registration(StopSignal* owner, int id) : owner_(owner), id_(id) {}
    StopSignal* owner_ = nullptr;
    int id_ = 0;
  };

  /// Calls `on_stop` once, on this object's thread, when the signal comes, soon if it has. It must
  /// not block, nor register or remove callbacks: the others and every removal wait for it.
  [[nodiscard]] Registration OnStop(std::function<void()> on_stop);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
