// Placement: cutting a model into blocks and giving them to shards. Done once a job; it must not
// show at the start of one with very many tensors.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/model/layout.h"

namespace weir {
namespace {

/// `tensors` of so many elements each, over `shards`.
void Placement(benchmark::State& state) {
  const auto tensors = static_cast<std::size_t>(state.range(0));
  const int shards = static_cast<int>(state.range(2));
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < tensors; ++i) {
    specs.push_back({.name = "tensor " + std::to_string(i), .shape = {state.range(1)}});
  }
  for (auto _ : state) {
    auto layout = Layout::Create(specs, shards);
    if (!layout.ok()) state.SkipWithError("no layout");
    benchmark::DoNotOptimize(layout);
  }
}
BENCHMARK(Placement)
    ->ArgNames({"tensors", "elements", "shards"})
    ->Args({6, 60'000, 2})
    ->Args({10'000, 16, 8})
    ->Args({10, 100'000'000, 64})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weir
