#include "chief/logic/run_stats.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weir::chief {
namespace {

// The smallest staleness that at least `percent` of all pushes do not exceed.
std::uint64_t Percentile(const std::vector<std::uint64_t>& histogram, std::uint64_t total,
                         std::uint64_t percent) {
  const std::uint64_t wanted = (total * percent + 99) / 100;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < histogram.size(); ++i) {
    seen += histogram[i];
    if (seen >= wanted) return i;
  }
  return 0;
}

}  // namespace

void RunStats::OnStats(ShardId shard, const wire::ShardStatsT& stats) { stats_[shard] = stats; }

void RunStats::OnPaths(MemberId from, const wire::PathsT& paths) {
  std::vector<PathTaken>& taken = paths_[from];
  taken.clear();
  for (const auto& used : paths.paths) {
    taken.push_back(
        {from.ToString(), MemberId{used->to_role, used->to_index}.ToString(), used->path});
  }
}

std::uint64_t RunStats::completed_steps() const {
  const auto found = stats_.find(counter_);
  if (found == stats_.end()) return 0;
  const auto& completed = found->second.completed;
  return std::accumulate(completed.begin(), completed.end(), std::uint64_t{0});
}

// A push is whole once the slowest of the shards that hold blocks has applied it.
std::uint64_t RunStats::Applied(std::size_t worker) const {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  bool any = false;
  for (const auto& [shard, stats] : stats_) {
    if (stats.blocks == 0) continue;
    any = true;
    least = std::min(least, worker < stats.applied.size() ? stats.applied[worker] : 0);
  }
  return any ? least : 0;
}

PushCounts RunStats::pushes() const {
  PushCounts counts;
  counts.acknowledged = completed_steps();
  std::size_t workers = 0;
  for (const auto& [shard, stats] : stats_) {
    workers = std::max(workers, stats.applied.size());
    counts.duplicates += stats.duplicates;
    // A push is dropped by every shard or by none.
    counts.dropped = std::max(counts.dropped, stats.dropped);
  }
  for (std::size_t worker = 0; worker < workers; ++worker) counts.applied += Applied(worker);
  const std::uint64_t settled = counts.applied + counts.dropped;
  counts.lost = counts.acknowledged > settled ? counts.acknowledged - settled : 0;
  return counts;
}

StalenessFigures RunStats::staleness() const {
  std::vector<std::uint64_t> merged;
  for (const auto& [shard, stats] : stats_) {
    merged.resize(std::max(merged.size(), stats.staleness.size()));
    for (std::size_t i = 0; i < stats.staleness.size(); ++i) merged[i] += stats.staleness[i];
  }
  const std::uint64_t total = std::accumulate(merged.begin(), merged.end(), std::uint64_t{0});
  if (total == 0) return {};
  StalenessFigures figures{Percentile(merged, total, 50), Percentile(merged, total, 99), 0};
  for (std::size_t i = 0; i < merged.size(); ++i) {
    if (merged[i] > 0) figures.max = i;
  }
  return figures;
}

ByteCounts RunStats::bytes() const {
  ByteCounts bytes{.pulled = one_sided_bytes_};
  for (const auto& [shard, stats] : stats_) {
    bytes.pushed += stats.bytes_pushed;
    bytes.pulled += stats.bytes_pulled;
  }
  return bytes;
}

double RunStats::train_seconds() const {
  const auto found = stats_.find(counter_);
  if (found == stats_.end()) return 0.0;
  const wire::ShardStatsT& stats = found->second;
  if (stats.first_ticket_us < 0 || stats.last_ack_us <= stats.first_ticket_us) return 0.0;
  return static_cast<double>(stats.last_ack_us - stats.first_ticket_us) * 1e-6;
}

std::vector<PathTaken> RunStats::paths() const {
  std::vector<PathTaken> all;
  for (const auto& [member, taken] : paths_) all.insert(all.end(), taken.begin(), taken.end());
  return all;
}

std::vector<std::string> RunStats::PathTable(MemberId member) const {
  std::vector<std::pair<std::string, std::string>> lines;  // path, peers
  const auto found = paths_.find(member);
  if (found == paths_.end()) return {};
  for (const PathTaken& taken : found->second) {
    auto line = std::ranges::find(lines, taken.path, &std::pair<std::string, std::string>::first);
    if (line == lines.end()) line = lines.insert(line, {taken.path, ""});
    absl::StrAppend(&line->second, line->second.empty() ? "" : ", ", taken.to);
  }
  std::vector<std::string> table;
  for (const auto& [path, peers] : lines) table.push_back(absl::StrCat(peers, ": ", path));
  return table;
}

std::string RunStats::PathsOf(MemberId member) const {
  const auto found = paths_.find(member);
  if (found == paths_.end()) return "";
  std::set<std::string> kinds;
  for (const PathTaken& taken : found->second) kinds.insert(taken.path);
  return absl::StrJoin(kinds, ", ");
}

void RunStats::OnFinished(std::uint32_t worker, const wire::FinishedT& finished) {
  one_sided_bytes_ += finished.one_sided_bytes;
  if (finished.phases == nullptr) return;
  constexpr double kSeconds = 1e-6;
  const wire::PhasesT& spent = *finished.phases;
  phases_[worker] = {.worker = worker,
                     .steps = finished.steps,
                     .data = static_cast<double>(spent.data_us) * kSeconds,
                     .ticket = static_cast<double>(spent.ticket_us) * kSeconds,
                     .pull = static_cast<double>(spent.pull_us) * kSeconds,
                     .forward = static_cast<double>(spent.forward_us) * kSeconds,
                     .backward = static_cast<double>(spent.backward_us) * kSeconds,
                     .push = static_cast<double>(spent.push_us) * kSeconds};
}

std::vector<WorkerPhases> RunStats::phases() const {
  std::vector<WorkerPhases> all;
  for (const auto& [worker, phases] : phases_) all.push_back(phases);
  return all;
}

}  // namespace weir::chief
