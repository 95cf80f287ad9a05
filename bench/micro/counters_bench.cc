// A shard's counters: its owner thread adds, whoever asks for the status reads. The first thread is
// the owner; how much do the readers slow it down?
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>

#include "common/base/ids.h"
#include "ps_server/logic/shard_counters.h"

namespace weir {
namespace {

ps::ShardCounters& Counters() {
  static auto* counters = new ps::ShardCounters(/*max_workers=*/8);
  return *counters;
}

/// What one push of one block counts; with more threads, while those read all that a status needs.
void CountPushes(benchmark::State& state) {
  ps::ShardCounters& counters = Counters();
  std::uint64_t version = 0, read = 0;
  for (auto _ : state) {
    if (state.thread_index() == 0) {
      counters.bytes_pushed.fetch_add(4096, std::memory_order_relaxed);
      counters.staleness[version % 4].fetch_add(1, std::memory_order_relaxed);
      counters.applied(WorkerIndex(0)).store(++version, std::memory_order_relaxed);
    } else {
      read += counters.bytes_pushed.load(std::memory_order_relaxed);
      for (const auto& bucket : counters.staleness) read += bucket.load(std::memory_order_relaxed);
    }
  }
  benchmark::DoNotOptimize(read);
  // Only the owner's: the readers' own speed is nobody's concern.
  if (state.thread_index() == 0) {
    state.counters["pushes_per_s"] =
        benchmark::Counter(static_cast<double>(version), benchmark::Counter::kIsRate);
  }
}
BENCHMARK(CountPushes)->ThreadRange(1, 2)->UseRealTime();

}  // namespace
}  // namespace weir
