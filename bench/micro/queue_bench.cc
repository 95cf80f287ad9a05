// The inbox of an owner thread: control calls are posted to it from other threads.
#include <benchmark/benchmark.h>

#include <functional>

#include "common/base/bounded_queue.h"

namespace weir {
namespace {

using Task = std::function<void()>;

/// One thread that posts and takes in turn.
void PostAndTake(benchmark::State& state) {
  BoundedQueue<Task> queue(4096);
  int done = 0;
  for (auto _ : state) {
    queue.Push([&done] { ++done; });
    (*queue.TryPop())();
  }
  benchmark::DoNotOptimize(done);
}
BENCHMARK(PostAndTake);

/// What an owner pays in each round of its loop for an inbox that is empty.
void LookIntoEmpty(benchmark::State& state) {
  BoundedQueue<Task> queue(4096);
  for (auto _ : state) {
    auto task = queue.TryPop();
    benchmark::DoNotOptimize(task);
  }
}
BENCHMARK(LookIntoEmpty);

}  // namespace
}  // namespace weir
