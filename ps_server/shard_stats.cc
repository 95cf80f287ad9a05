#include "ps_server/shard_stats.h"

namespace weir::ps {

wire::ShardStatsT StatsOf(const Layout& layout, ShardIndex shard, ShardCounters& counters) {
  const auto read = [](const std::atomic<std::uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  wire::ShardStatsT stats;
  stats.blocks = static_cast<std::uint32_t>(layout.blocks_of(shard).size());
  stats.bytes = static_cast<std::uint64_t>(layout.bytes_of(shard));
  for (const auto& bucket : counters.staleness) stats.staleness.push_back(read(bucket));
  for (int w = 0; w < counters.max_workers(); ++w) {
    const WorkerIndex worker(static_cast<std::uint16_t>(w));
    stats.applied.push_back(read(counters.applied(worker)));
    stats.completed.push_back(read(counters.completed(worker)));
  }
  stats.duplicates = read(counters.duplicates);
  stats.bytes_pushed = read(counters.bytes_pushed);
  stats.bytes_pulled = read(counters.bytes_pulled);
  stats.first_ticket_us = -1;
  stats.last_ack_us = -1;
  return stats;
}

}  // namespace weir::ps
