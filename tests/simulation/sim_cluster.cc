#include "tests/simulation/sim_cluster.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/sim_shard.h"
#include "tests/simulation/sim_worker.h"

namespace weir::sim {

SimCluster::SimCluster(SimWorld& world, Step start, Values first)
    : world_(world), start_(start), first_(std::move(first)) {}

void SimCluster::Record(Event event) {
  if (scheduler().tracing()) scheduler().Trace(absl::StrCat("* ", ToString(event)));
  history_.push_back(std::move(event));
}

void SimCluster::Level(const std::string& what, int value, int limit) {
  const auto [level, first] = levels_.try_emplace(what, value);
  if (!first && value <= level->second && value >= 0) return;
  level->second = value;
  Record(LevelReached{what, value, limit});
}

SimWorker* SimCluster::worker(const Life& who) {
  const auto found = workers_.find(who);
  return found == workers_.end() ? nullptr : found->second;
}

SimShard* SimCluster::FindShard(ShardIndex index) {
  const auto found = shards_.find(index);
  return found == shards_.end() ? nullptr : found->second;
}

ProcessId SimCluster::ProcessOf(ShardIndex shard) const { return shards_.at(shard)->process(); }

ProcessId SimCluster::ProcessOf(const Life& who) const {
  const auto found = workers_.find(who);
  return found == workers_.end() ? kNoProcess : found->second->process();
}

void SimCluster::EndLife(const Life& who) { Record(LifeOver{who}); }

void SimCluster::EndAllLives() {
  over_ = true;
  for (const auto& [life, worker] : workers_) EndLife(life);
}

std::vector<Violation> SimCluster::Judge(bool complete) {
  // A run that ended before all its shards had come has no weights to judge.
  for (const Block& block : layout().blocks()) {
    const auto shard = shards_.find(block.shard);
    if (shard == shards_.end()) continue;
    const std::span<const float> values = shard->second->values(block.id);
    Record(FinalBlock{block.id, {values.begin(), values.end()}});
  }
  return CheckHistory(history_, {.layout = &layout(),
                                 .learning_rate = scenario().learning_rate,
                                 .start_step = start_,
                                 .max_steps = scenario().max_steps,
                                 .stopped = !complete,
                                 .first = &first_});
}

}  // namespace weir::sim
