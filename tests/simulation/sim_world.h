#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/ids.h"
#include "common/model/layout.h"
#include "schemas/chief_generated.h"
#include "tests/simulation/history_checker.h"
#include "tests/simulation/job_history.h"
#include "tests/simulation/processes.h"
#include "tests/simulation/random.h"
#include "tests/simulation/scenario.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/sim_disk.h"
#include "tests/simulation/sim_network.h"

namespace weir::sim {

class SimChief;
class SimCluster;
class SimTask;

/// A whole job in one process: the shipping logic of chief, shards and clients, simulated time,
/// network and disk, and somebody who starts again what has ended too early. Everything follows
/// from the scenario.
class SimWorld {
 public:
  SimWorld(const Scenario& scenario, bool trace);
  ~SimWorld();

  /// Runs until nothing is left to do, and judges what happened.
  std::vector<Violation> Run();
  std::uint64_t events() const { return events_; }
  /// How often what the simulation is for came about: "push Busy" and so on.
  const std::map<std::string, std::uint64_t>& occurrences() const { return occurrences_; }

  // For the processes.
  template <typename What>
  void Record(What what) {
    Append({scheduler_.now(), std::move(what)});
  }
  void Count(const std::string& occurrence) { ++occurrences_[occurrence]; }
  /// Who listens at the chief's address; null when nobody does.
  SimChief* chief();
  /// The data path that a chief, alive or dead, leads.
  SimCluster& RunOf(ProcessId chief);
  /// Asks whoever is the chief; `answer` comes within 3 s, null when the call failed.
  void CallJoin(ProcessId from, const wire::JoinRequestT& request,
                std::function<void(const wire::JoinReplyT*)> answer);
  /// What was committed, to be compared with what is read.
  using Cut = std::vector<std::tuple<BlockId, Version, std::vector<float>>>;
  void Keep(Step step, Cut cut) { cuts_[step] = std::move(cut); }
  bool IsIntact(Step step, const std::vector<std::vector<float>>& values) const;
  void Exit(SimTask& task, int exit_code, const std::string& reason);
  void OnRunStarted(SimChief* chief) { chiefs_.push_back(chief); }
  void OnPhase(chief::Phase phase);
  std::uint64_t NewSession() { return ++sessions_; }

  const Scenario& scenario() const { return scenario_; }
  const Layout& layout() const { return layout_; }
  Scheduler& scheduler() { return scheduler_; }
  Processes& processes() { return processes_; }
  Random& random() { return random_; }
  SimNetwork& network() { return network_; }
  SimDisk& disk() { return disk_; }

 private:
  /// Starts the tasks that have no process that lives.
  void StartMissing();
  void StartLater(chief::MemberId task, absl::Duration after);
  void StartTask(chief::MemberId task);
  SimTask* Current(chief::MemberId task);
  bool AnybodyAlive() const;
  bool JobIsDone() const;
  void Inject(const Fault& fault);
  void AfterDeath(const SimTask& task);
  void Append(JobEvent event);

  const Scenario scenario_;
  const Layout layout_;
  Random random_;
  Scheduler scheduler_;
  Processes processes_;
  SimNetwork network_;
  SimDisk disk_;
  JobHistory history_;
  std::map<std::string, std::uint64_t> occurrences_;
  std::vector<std::unique_ptr<SimTask>> tasks_;  // the dead too: what is under way names them
  std::map<chief::MemberId, SimTask*> current_;  // the newest of each
  std::vector<SimChief*> chiefs_;                // those that led a run
  std::map<Step, Cut> cuts_;                     // as committed
  std::vector<bool> fault_used_;
  std::uint64_t sessions_ = 0;
  std::uint64_t events_ = 0;
  int starts_ahead_ = 0;
  int starts_ = 0;
};

}  // namespace weir::sim
