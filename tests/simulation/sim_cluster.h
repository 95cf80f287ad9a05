#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/model/layout.h"
#include "tests/simulation/history.h"
#include "tests/simulation/history_checker.h"
#include "tests/simulation/random.h"
#include "tests/simulation/scenario.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/sim_network.h"

namespace weir::sim {

class SimShard;
class SimWorker;

/// A whole cluster in one process: the shipping logic of shards and clients, a chief that is only a
/// list of members, simulated time and network. Everything follows from the scenario.
class SimCluster {
 public:
  SimCluster(const Scenario& scenario, bool trace);
  ~SimCluster();

  /// Runs until nothing is left to do, and judges what happened.
  std::vector<Violation> Run();
  const History& history() const { return history_; }
  std::uint64_t events() const { return events_; }
  /// How often what the simulation is for came about: "push Busy" and so on.
  const std::map<std::string, std::uint64_t>& occurrences() const { return occurrences_; }

  // For the members.
  void Record(Event event);
  void Count(const std::string& occurrence) { ++occurrences_[occurrence]; }
  /// Records a level when it is the highest so far, or beyond its limit.
  void Level(const std::string& what, int value, int limit);
  /// Who a session belongs to; sessions are numbers into this table.
  const Life& LifeOf(std::uint64_t session) const { return sessions_[session - 1].who; }
  std::uint64_t OpenSession(const Life& who, ShardIndex shard);
  SimShard& shard(ShardIndex index) { return *shards_[index.value()]; }
  /// Null when that life is gone.
  SimWorker* worker(const Life& who);
  bool training() const;

  const Scenario& scenario() const { return scenario_; }
  const Layout& layout() const { return layout_; }
  Scheduler& scheduler() { return scheduler_; }
  Random& random() { return random_; }
  SimNetwork& network() { return network_; }

 private:
  struct Session {
    Life who;
    ShardIndex shard;
  };
  void Join(WorkerIndex index);
  void Leave(const Life& who);
  void Kill(const Death& death);
  void PublishView();
  void SnapshotLater(SimShard& shard);
  void RecordFinalWeights();

  const Scenario scenario_;
  const Layout layout_;
  Random random_;
  Scheduler scheduler_;
  SimNetwork network_;
  History history_;
  std::map<std::string, int> levels_;
  std::map<std::string, std::uint64_t> occurrences_;
  std::vector<Session> sessions_;
  std::vector<std::unique_ptr<SimShard>> shards_;
  std::map<Life, std::unique_ptr<SimWorker>> workers_;  // zombies too
  std::vector<Life> members_;                           // of the view
  std::set<Life> over_;
  ViewNumber view_;
  int joins_ahead_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace weir::sim
