#include "ps_server/logic/tickets.h"

#include <cassert>

namespace weir::ps {

Tickets::Tickets(Step start, Step max, int max_workers)
    : start_(start), max_(max), next_(start.next()), held_(static_cast<std::size_t>(max_workers)) {}

std::optional<Step> Tickets::Take(WorkerIndex worker) {
  assert(!held_[worker.value()]);
  if (stopped_) return std::nullopt;
  std::optional<Step> step;
  if (!returned_.empty()) {
    step = *returned_.begin();
    returned_.erase(returned_.begin());
  } else if (next_ <= max_) {
    step = next_;
    next_ = next_.next();
  }
  held_[worker.value()] = step;
  return step;
}

bool Tickets::Complete(WorkerIndex worker, Step step) {
  if (held_[worker.value()] != step) return false;
  held_[worker.value()].reset();
  ++completed_;
  return true;
}

void Tickets::GiveBack(WorkerIndex worker) {
  std::optional<Step>& held = held_[worker.value()];
  if (!held) return;
  returned_.insert(*held);
  held.reset();
}

}  // namespace weir::ps
