#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tests/simulation/processes.h"
#include "tests/simulation/random.h"
#include "tests/simulation/scenario.h"
#include "tests/simulation/scheduler.h"

namespace weir::sim {

/// A worse network than any weir runs on: it delays, drops, repeats and reorders each message by
/// itself, and reads lent bytes late.
class SimNetwork {
 public:
  /// One message. `read` takes what is sent out of the sender's memory (false: the sender is gone,
  /// nothing is sent), some time before the first `deliver`; `sent` gives the memory back, after
  /// `read` but before or after the deliveries. `deliver(true)` is a repetition.
  struct Message {
    ProcessId from = kNoProcess;
    ProcessId to = kNoProcess;
    std::string label;  ///< for the trace; empty when there is none
    std::function<bool()> read;
    std::function<void()> sent;
    std::function<void(bool repeated)> deliver;
    std::function<void()> lost;
    bool sent_early = false;  ///< planted: `sent` comes before `read`
  };

  SimNetwork(Scheduler& scheduler, Processes& processes, Random& random, const Scenario& scenario)
      : scheduler_(scheduler), processes_(processes), random_(random), scenario_(scenario) {}

  void Send(Message message);
  absl::Duration Delay();
  absl::Time now() const { return scheduler_.now(); }

 private:
  void Read(const std::shared_ptr<Message>& message);

  Scheduler& scheduler_;
  Processes& processes_;
  Random& random_;
  const Scenario& scenario_;
};

}  // namespace weir::sim
