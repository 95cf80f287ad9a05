// The histogram of staleness: a shard counts into it at every block, the chief merges all shards'
// and reads percentiles off, once for a status and once at the end.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>

#include "chief/logic/run_stats.h"
#include "ps_server/logic/shard_counters.h"

namespace weir {
namespace {

void CountStaleness(benchmark::State& state) {
  ps::ShardCounters counters(/*max_workers=*/1);
  std::uint64_t behind = 0;
  for (auto _ : state) {
    // Another bucket each time, in no order that a prefetcher follows.
    behind = (behind * 5 + 3) % ps::kStalenessBuckets;
    counters.staleness[behind].fetch_add(1, std::memory_order_relaxed);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(CountStaleness);

/// A status of `range(0)` shards.
void MergeStaleness(benchmark::State& state) {
  chief::RunStats stats(chief::ShardId{});
  wire::ShardStatsT counted;
  for (int i = 0; i < ps::kStalenessBuckets; ++i) counted.staleness.push_back(1);
  for (int i = 0; i < state.range(0); ++i) {
    stats.OnStats({.ps = static_cast<std::uint32_t>(i)}, counted);
  }
  for (auto _ : state) benchmark::DoNotOptimize(stats.staleness());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(MergeStaleness)->Arg(1)->Arg(16)->Arg(256);

}  // namespace
}  // namespace weir
