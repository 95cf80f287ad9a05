#include "tests/simulation/sim_committer.h"

#include <utility>

#include "tests/simulation/sim_chief.h"
#include "tests/simulation/sim_cluster.h"
#include "tests/simulation/sim_world.h"

namespace weir::sim {

bool SimCommitter::DiskFails() {
  if (!world_.random().Chance(world_.scenario().disk_error)) return false;
  world_.Count("manifest not written");
  return true;
}

void SimCommitter::Commit(const chief::CheckpointRecord& record, Done done) {
  Steps steps;
  steps.push_back([this] {
    return DiskFails() ? absl::ResourceExhaustedError("the disk is full") : absl::OkStatus();
  });
  steps.push_back([this, record] { return WriteManifest(record); });
  steps.push_back([] { return absl::OkStatus(); });  // the folder is synchronised
  AppendPruning(steps);
  Enqueue(std::move(steps), std::move(done));
}

void SimCommitter::MarkFinal(Step step, Done done) {
  Steps steps;
  steps.push_back([this] {
    return DiskFails() ? absl::ResourceExhaustedError("the disk is full") : absl::OkStatus();
  });
  steps.push_back([this, step] {
    SimDisk::Folder& folder = world_.disk()[step];
    if (!folder.manifest.has_value()) return absl::NotFoundError("there is no such checkpoint");
    folder.manifest->is_final = world_.scenario().plant != Plant::kForgetFinal;
    if (folder.manifest->is_final) world_.Record(CheckpointMarkedFinal{step});
    world_.Count("checkpoint marked final");
    return absl::OkStatus();
  });
  Enqueue(std::move(steps), std::move(done));
}

absl::Status SimCommitter::WriteManifest(const chief::CheckpointRecord& record) {
  SimDisk::Folder& folder = world_.disk()[record.step];
  bool whole = true;
  std::size_t named = 0;
  CutStored cut{record.step, {}};
  for (const chief::StoredShard& shard : record.shards) {
    const ShardIndex index = world_.layout().shard_of(static_cast<int>(shard.shard.ps),
                                                      static_cast<int>(shard.shard.thread));
    ++named;
    const auto file = folder.files.find(index);
    if (file == folder.files.end()) {
      if (world_.scenario().plant == Plant::kDoneBeforeWritten) {
        whole = false;
        continue;
      }
      return absl::DataLossError("a shard's file is not there");
    }
    if (file->second.chief != chief_) whole = false;
    for (const SimShardFile::Entry& entry : file->second.entries) {
      cut.blocks.emplace_back(entry.block, entry.version, entry.values);
    }
  }
  if (named != static_cast<std::size_t>(world_.layout().shards())) whole = false;
  if (cut.blocks.size() != world_.layout().blocks().size()) whole = false;
  const bool forget = world_.scenario().plant == Plant::kForgetFinal;
  folder.manifest = SimDisk::Manifest{.chief = chief_, .is_final = record.is_final && !forget};
  world_.Record(CheckpointCommitted{chief_, record.step, folder.manifest->is_final, whole});
  world_.Count("checkpoint committed");
  world_.Keep(record.step, cut.blocks);
  world_.RunOf(chief_).Record(std::move(cut));
  return absl::OkStatus();
}

void SimCommitter::AppendPruning(Steps& steps) {
  const int keep = world_.scenario().keep_checkpoint_max;
  if (keep == 0) return;
  // Oldest first, the manifest before the files. What is to go is known when its turn comes.
  for (int i = 0; i < 2; ++i) {
    steps.push_back([this, keep] {
      const std::vector<Step> complete = world_.disk().Complete();
      if (complete.size() <= static_cast<std::size_t>(keep)) return absl::OkStatus();
      const bool newest = world_.scenario().plant == Plant::kPruneNewest;
      const Step doomed = newest ? complete.back() : complete.front();
      world_.disk()[doomed].manifest.reset();
      world_.Record(CheckpointPruned{doomed});
      world_.Count("checkpoint pruned");
      return absl::OkStatus();
    });
    steps.push_back([this] {
      const auto newest = world_.disk().Newest();
      if (newest) world_.disk().RemoveIncompleteBelow(*newest);
      return absl::OkStatus();
    });
  }
}

void SimCommitter::Enqueue(Steps steps, Done done) {
  tasks_.push_back({std::move(steps), 0, std::move(done)});
  if (!std::exchange(running_, true)) RunNext();
}

void SimCommitter::RunNext() {
  const absl::Duration takes = world_.random().Upto(world_.scenario().disk_delay);
  const auto run = [this] {
    Task& task = tasks_.front();
    absl::Status status;
    if (task.next < task.steps.size()) status = task.steps[task.next++]();
    if (status.ok() && task.next < task.steps.size()) return RunNext();
    const Done done = std::move(task.done);
    tasks_.pop_front();
    running_ = !tasks_.empty();
    world_.processes().After(chief_, absl::ZeroDuration(), [done, status] { done(status); });
    if (running_) RunNext();
  };
  // A plant: a dead chief's disk goes on, and slowly.
  if (world_.scenario().plant == Plant::kCommitterLivesOn) {
    world_.scheduler().After(takes * 50, run);
  } else {
    world_.processes().After(chief_, takes, run);
  }
}

}  // namespace weir::sim
