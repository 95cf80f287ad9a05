#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace weir::sim {

/// Simulated time, and what is to happen when; ties in the order of their scheduling.
class Scheduler {
 public:
  explicit Scheduler(bool trace) : trace_(trace) {}

  absl::Time now() const { return now_; }
  void After(absl::Duration delay, std::function<void()> what) {
    At(now_ + delay, std::move(what));
  }
  void At(absl::Time when, std::function<void()> what) {
    items_.push_back({std::max(when, now_), next_++, std::move(what)});
    std::ranges::push_heap(items_, Later);
  }
  /// Runs the next thing; false when there is none.
  bool RunOne() {
    if (items_.empty()) return false;
    std::ranges::pop_heap(items_, Later);
    Item item = std::move(items_.back());
    items_.pop_back();
    now_ = item.when;
    item.what();
    return true;
  }

  bool tracing() const { return trace_; }
  void Trace(absl::string_view line) const {
    if (!trace_) return;
    std::cout << absl::StrFormat("%12.3f ms  %s\n", absl::ToDoubleMilliseconds(now_ - kStart),
                                 line);
  }

 private:
  struct Item {
    absl::Time when;
    std::uint64_t number;
    std::function<void()> what;
  };
  static bool Later(const Item& a, const Item& b) {
    return std::pair(a.when, a.number) > std::pair(b.when, b.number);
  }
  static constexpr absl::Time kStart = absl::UnixEpoch();

  const bool trace_;
  absl::Time now_ = kStart;
  std::uint64_t next_ = 0;
  std::vector<Item> items_;
};

}  // namespace weir::sim
