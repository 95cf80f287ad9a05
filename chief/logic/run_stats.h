#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "chief/logic/member_id.h"
#include "chief/logic/shard_id.h"
#include "chief/logic/summary_data.h"
#include "schemas/chief_generated.h"

namespace weir::chief {

/// What the shards counted in this run, merged. Each shard's newest report counts, in whole.
class RunStats {
 public:
  /// `counter` is the shard with the step counter.
  explicit RunStats(ShardId counter) : counter_(counter) {}

  void OnStats(ShardId shard, const wire::ShardStatsT& stats);
  void OnPaths(MemberId from, const wire::PathsT& paths);
  void OnFinished(std::uint32_t worker, const wire::FinishedT& finished);

  /// Steps of this run that every shard acknowledged, as the step counter counted them.
  std::uint64_t completed_steps() const;
  PushCounts pushes() const;
  StalenessFigures staleness() const;
  ByteCounts bytes() const;
  /// From the first ticket to the last acknowledgement, on the step counter's clock.
  double train_seconds() const;
  std::vector<PathTaken> paths() const;
  std::vector<WorkerPhases> phases() const;
  /// The start-up table's part of one member: "ps 0, ps 1: message (ucx tcp/lo)", a line a path.
  std::vector<std::string> PathTable(MemberId member) const;
  /// The path kinds of one member, each once: "message".
  std::string PathsOf(MemberId member) const;

 private:
  std::uint64_t Applied(std::size_t worker) const;

  const ShardId counter_;
  std::map<ShardId, wire::ShardStatsT> stats_;
  std::uint64_t one_sided_bytes_ = 0;
  std::map<MemberId, std::vector<PathTaken>> paths_;
  std::map<std::uint32_t, WorkerPhases> phases_;  // by worker
};

}  // namespace weir::chief
