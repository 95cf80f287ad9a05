#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/model/layout.h"
#include "tests/simulation/history.h"
#include "tests/simulation/history_checker.h"
#include "tests/simulation/sim_world.h"

namespace weir::sim {

class SimShard;
class SimWorker;

/// The data path of one run of a job: the shards and workers that one chief leads, and the history
/// of what they did to the weights.
class SimCluster {
 public:
  /// The weights at its start, by block.
  using Values = std::vector<std::vector<float>>;
  SimCluster(SimWorld& world, Step start, Values first);

  // For the members.
  void Record(Event event);
  void Count(const std::string& occurrence) { world_.Count(occurrence); }
  /// Records a level when it is the highest so far, or beyond its limit.
  void Level(const std::string& what, int value, int limit);
  /// Who a session belongs to.
  const Life& LifeOf(std::uint64_t session) const { return sessions_.at(session); }
  void OpenSession(std::uint64_t session, const Life& who) { sessions_[session] = who; }
  SimShard& shard(ShardIndex index) { return *shards_.at(index); }
  /// Null where the view has no such ps yet.
  SimShard* FindShard(ShardIndex index);
  /// Null when that life is gone.
  SimWorker* worker(const Life& who);
  ProcessId ProcessOf(ShardIndex shard) const;
  ProcessId ProcessOf(const Life& who) const;
  /// The worker takes no more steps.
  // For the world: who is there. Borrowed.
  void AddShard(ShardIndex index, SimShard* shard) { shards_[index] = shard; }
  void AddWorker(const Life& who, SimWorker* worker) {
    workers_[who] = worker;
    if (over_) EndLife(who);
  }
  void RemoveWorker(const Life& who) { workers_.erase(who); }
  const std::map<Life, SimWorker*>& workers() const { return workers_; }
  /// Nobody expects anything of that life any more, or of any.
  void EndLife(const Life& who);
  void EndAllLives();
  /// `complete`: the run ended at max_steps.
  std::vector<Violation> Judge(bool complete);

  Step start() const { return start_; }
  const std::vector<float>& first(BlockId block) const { return first_[block.value()]; }
  const Scenario& scenario() const { return world_.scenario(); }
  const Layout& layout() const { return world_.layout(); }
  Scheduler& scheduler() { return world_.scheduler(); }
  Processes& processes() { return world_.processes(); }
  Random& random() { return world_.random(); }
  SimNetwork& network() { return world_.network(); }
  SimWorld& world() { return world_; }

 private:
  SimWorld& world_;
  const Step start_;
  const Values first_;
  History history_;
  std::map<std::string, int> levels_;
  std::map<std::uint64_t, Life> sessions_;
  std::map<ShardIndex, SimShard*> shards_;
  std::map<Life, SimWorker*> workers_;  // fenced ones that live on too
  bool over_ = false;                   // whoever lives now lives without expectations
};

}  // namespace weir::sim
