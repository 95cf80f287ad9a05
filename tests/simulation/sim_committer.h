#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "chief/logic/checkpoint_record.h"
#include "tests/simulation/processes.h"

namespace weir::sim {

class SimWorld;

/// The chief's committing thread, on the simulated disk: one task at a time, in steps that take
/// time, so that the chief's death falls between any two of them.
class SimCommitter {
 public:
  using Done = std::function<void(absl::Status)>;

  SimCommitter(SimWorld& world, ProcessId chief) : world_(world), chief_(chief) {}

  /// Commits, then prunes; `done` is called in the chief's process.
  void Commit(const chief::CheckpointRecord& record, Done done);
  void MarkFinal(Step step, Done done);

 private:
  using Steps = std::vector<std::function<absl::Status()>>;
  void Enqueue(Steps steps, Done done);
  void RunNext();
  absl::Status WriteManifest(const chief::CheckpointRecord& record);
  void AppendPruning(Steps& steps);
  bool DiskFails();

  SimWorld& world_;
  const ProcessId chief_;
  struct Task {
    Steps steps;
    std::size_t next = 0;
    Done done;
  };
  std::deque<Task> tasks_;
  bool running_ = false;
};

}  // namespace weir::sim
