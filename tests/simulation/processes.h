#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tests/simulation/random.h"
#include "tests/simulation/scheduler.h"

namespace weir::sim {

/// Names one process of a simulated job; never used again.
using ProcessId = std::size_t;
/// Of what happens outside of any process.
inline constexpr ProcessId kNoProcess = 0;

/// The processes of a simulated job, as far as an operating system knows them: what a process does
/// is done while it is frozen no more, and never after its death.
class Processes {
 public:
  Processes(Scheduler& scheduler, Random& random) : scheduler_(scheduler), random_(random) {}

  ProcessId Start() {
    table_.emplace_back();
    return table_.size() - 1;
  }
  void End(ProcessId id) { table_[id].alive = false; }
  void FreezeUntil(ProcessId id, absl::Time until) { table_[id].frozen_until = until; }

  bool alive(ProcessId id) const { return table_[id].alive; }
  bool frozen(ProcessId id) const { return table_[id].frozen_until > scheduler_.now(); }
  absl::Time frozen_until(ProcessId id) const { return table_[id].frozen_until; }

  void After(ProcessId id, absl::Duration delay, std::function<void()> what) {
    At(id, scheduler_.now() + delay, std::move(what));
  }
  void At(ProcessId id, absl::Time when, std::function<void()> what) {
    scheduler_.At(when, [this, id, what = std::move(what)]() mutable { Run(id, std::move(what)); });
  }

 private:
  struct Entry {
    bool alive = true;
    absl::Time frozen_until = absl::InfinitePast();
  };

  void Run(ProcessId id, std::function<void()> what) {
    const Entry& entry = table_[id];
    if (!entry.alive) return;
    if (entry.frozen_until <= scheduler_.now()) return what();
    // Who wakes up finds its timers and what arrived meanwhile in any order.
    At(id, entry.frozen_until + random_.Upto(absl::Milliseconds(20)), std::move(what));
  }

  Scheduler& scheduler_;
  Random& random_;
  std::vector<Entry> table_{Entry{}};  // the first is kNoProcess: alive for ever
};

}  // namespace weir::sim
