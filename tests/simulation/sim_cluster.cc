#include "tests/simulation/sim_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/sim_shard.h"
#include "tests/simulation/sim_worker.h"

namespace weir::sim {
namespace {

// A run takes a few ten thousand events; one that takes this many is going round in circles, and
// what it waits for is then a broken rule.
constexpr std::uint64_t kMostEvents = 1'000'000;
constexpr absl::Duration kZombieLives = absl::Seconds(1);

Layout MakeLayout(const Scenario& scenario) {
  std::vector<TensorSpec> tensors;
  for (std::size_t i = 0; i < scenario.tensors.size(); ++i) {
    tensors.push_back({absl::StrCat("t", i), DType::kFloat32, {scenario.tensors[i]}});
  }
  return *Layout::Create(std::move(tensors), scenario.shards);
}

}  // namespace

SimCluster::SimCluster(const Scenario& scenario, bool trace)
    : scenario_(scenario),
      layout_(MakeLayout(scenario_)),
      random_(scenario.seed ^ 0x5DEECE66DU),
      scheduler_(trace),
      network_(scheduler_, random_, scenario_) {
  for (std::uint16_t s = 0; s < scenario_.shards; ++s) {
    shards_.push_back(std::make_unique<SimShard>(*this, ShardIndex(s)));
  }
}

SimCluster::~SimCluster() = default;

std::vector<Violation> SimCluster::Run() {
  for (std::uint16_t w = 0; w < scenario_.workers; ++w) {
    ++joins_ahead_;
    scheduler_.After(random_.Upto(absl::Milliseconds(20)), [this, w] { Join(WorkerIndex(w)); });
  }
  for (const Death& death : scenario_.deaths) {
    scheduler_.After(death.at, [this, death] { Kill(death); });
  }
  if (scenario_.stop_at) {
    scheduler_.After(*scenario_.stop_at, [this] {
      scheduler_.Trace("training is stopped");
      shards_[0]->StopTraining();
    });
  }
  for (const auto& shard : shards_) {
    if (scenario_.snapshot_every) SnapshotLater(*shard);
  }
  while (events_ < kMostEvents && scheduler_.RunOne()) ++events_;
  RecordFinalWeights();
  return CheckHistory(history_, {.layout = &layout_,
                                 .learning_rate = scenario_.learning_rate,
                                 .start_step = scenario_.start_step,
                                 .max_steps = scenario_.max_steps,
                                 .stopped = scenario_.stop_at.has_value()});
}

void SimCluster::SnapshotLater(SimShard& shard) {
  scheduler_.After(random_.Upto(*scenario_.snapshot_every * 2), [this, &shard] {
    shard.TakeSnapshot();
    if (training()) SnapshotLater(shard);
  });
}

void SimCluster::Record(Event event) {
  if (scheduler_.tracing()) scheduler_.Trace(absl::StrCat("* ", ToString(event)));
  history_.push_back(std::move(event));
}

void SimCluster::Level(const std::string& what, int value, int limit) {
  const auto [level, first] = levels_.try_emplace(what, value);
  if (!first && value <= level->second && value >= 0) return;
  level->second = value;
  Record(LevelReached{what, value, limit});
}

std::uint64_t SimCluster::OpenSession(const Life& who, ShardIndex shard) {
  sessions_.push_back({who, shard});
  return sessions_.size();
}

SimWorker* SimCluster::worker(const Life& who) {
  const auto found = workers_.find(who);
  return found == workers_.end() ? nullptr : found->second.get();
}

bool SimCluster::training() const {
  return joins_ahead_ > 0 ||
         std::ranges::any_of(workers_, [](const auto& worker) { return !worker.second->done(); });
}

void SimCluster::Join(WorkerIndex index) {
  --joins_ahead_;
  const Life life{index, Incarnation(random_.Id() % 100000)};
  members_.push_back(life);
  workers_[life] = std::make_unique<SimWorker>(*this, life);
  scheduler_.Trace(absl::StrCat("* ", ToString(life), " joins"));
  PublishView();
  if (!scenario_.wait_for_view) workers_[life]->Start();
}

void SimCluster::Leave(const Life& who) {
  std::erase(members_, who);
  PublishView();
}

void SimCluster::Kill(const Death& death) {
  const auto member = std::ranges::find(members_, death.worker, &Life::worker);
  if (member == members_.end() || over_.contains(*member)) return;
  const Life life = *member;
  over_.insert(life);
  // From now on nobody expects it to finish; a zombie only does not know it yet.
  Record(LifeOver{life});
  if (death.zombie) {
    scheduler_.After(kZombieLives, [this, life] { workers_.erase(life); });
  } else {
    workers_.erase(life);
  }
  if (death.restarts_after) ++joins_ahead_;
  scheduler_.After(death.noticed_after, [this, life, death] {
    Leave(life);
    if (!death.restarts_after) return;
    scheduler_.After(*death.restarts_after, [this, death] { Join(death.worker); });
  });
}

void SimCluster::PublishView() {
  view_ = view_.next();
  for (const auto& shard : shards_) {
    scheduler_.After(network_.Delay(), [shard = shard.get(), view = view_, live = members_] {
      shard->OnView(view, live);
    });
  }
  for (const Life& life : members_) {
    scheduler_.After(network_.Delay(), [this, life, view = view_] {
      if (SimWorker* member = worker(life)) member->OnView(view);
    });
  }
}

void SimCluster::RecordFinalWeights() {
  for (const Block& block : layout_.blocks()) {
    const std::span<const float> values = shards_[block.shard.value()]->values(block.id);
    Record(FinalBlock{block.id, {values.begin(), values.end()}});
  }
}

}  // namespace weir::sim
