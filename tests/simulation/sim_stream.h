#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "schemas/chief_generated.h"
#include "tests/simulation/processes.h"
#include "tests/simulation/sim_network.h"

namespace weir::sim {

/// One Session stream between a member and a chief: reliable and in order each way, as gRPC gives
/// it, but slow at times, and it may break.
class SimStream : public std::enable_shared_from_this<SimStream> {
 public:
  SimStream(Processes& processes, SimNetwork& network, ProcessId member, ProcessId chief)
      : processes_(processes), network_(network), to_chief_{chief}, to_member_{member} {}

  /// `deliver` runs in the process that the message is for.
  void ToChief(std::function<void()> deliver) { Send(to_chief_, std::move(deliver)); }
  void ToMember(std::function<void()> deliver) { Send(to_member_, std::move(deliver)); }
  /// What each side does, once, when it finds the stream ended.
  void OnEnd(std::function<void()> at_chief, std::function<void()> at_member) {
    to_chief_.on_end = std::move(at_chief);
    to_member_.on_end = std::move(at_member);
  }

  /// Both sides find it ended, after what was sent before.
  void Finish() {
    End(to_chief_);
    End(to_member_);
  }
  /// The same, but what is under way is lost.
  void Break() {
    for (Direction* direction : {&to_chief_, &to_member_}) {
      direction->queue.clear();
      direction->ended = false;  // an end that is under way is lost too
    }
    Finish();
  }

  ProcessId member() const { return to_member_.receiver; }

 private:
  struct Direction {
    ProcessId receiver;
    std::deque<std::function<void()>> queue;  // in order, however the arrivals are delayed
    absl::Time last = absl::InfinitePast();
    bool ended = false;
    std::function<void()> on_end;
  };

  void Send(Direction& to, std::function<void()> deliver) {
    if (to.ended) return;
    to.queue.push_back(std::move(deliver));
    to.last = std::max(to.last, network_.now() + network_.Delay());
    processes_.At(to.receiver, to.last, [self = shared_from_this(), &to] {
      if (to.queue.empty()) return;  // lost in a break
      const std::function<void()> next = std::move(to.queue.front());
      to.queue.pop_front();
      next();
    });
  }
  void End(Direction& to) {
    if (to.ended) return;
    Send(to, [&to] {
      if (to.on_end) std::exchange(to.on_end, nullptr)();
    });
    to.ended = true;
  }

  Processes& processes_;
  SimNetwork& network_;
  Direction to_chief_;
  Direction to_member_;
};

}  // namespace weir::sim
