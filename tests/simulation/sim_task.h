#pragma once

#include "tests/simulation/job_history.h"
#include "tests/simulation/sim_world.h"

namespace weir::sim {

/// One process of a task, from its start to its end. What it does runs as its process
/// (Processes::After), so that nothing is done by the dead.
class SimTask {
 public:
  SimTask(SimWorld& world, const TaskLife& who)
      : world_(world), who_(who), process_(world.processes().Start()) {}
  virtual ~SimTask() = default;
  SimTask(const SimTask&) = delete;
  SimTask& operator=(const SimTask&) = delete;

  virtual void Start() = 0;
  virtual void OnStopSignal() = 0;
  /// Its streams are to break; it lives.
  virtual void CutSession() {}
  /// It has ended, in whatever way: what the kernel does for it.
  virtual void OnDeath() = 0;

  ProcessId process() const { return process_; }
  const TaskLife& who() const { return who_; }
  bool alive() const { return world_.processes().alive(process_); }

 protected:
  void After(absl::Duration delay, std::function<void()> what) {
    world_.processes().After(process_, delay, std::move(what));
  }
  absl::Time now() const { return world_.scheduler().now(); }
  void Exit(int exit_code, const std::string& reason) { world_.Exit(*this, exit_code, reason); }

  SimWorld& world_;

 private:
  const TaskLife who_;
  const ProcessId process_;
};

}  // namespace weir::sim
