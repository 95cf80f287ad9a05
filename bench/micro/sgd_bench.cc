// Every variant of the SGD kernel that runs here, over what one message carries, over what the
// second-level cache holds, and over more than any cache. The gradient lies as it does in a receive
// segment of UCX's tcp: 13 bytes beyond a multiple of 64 (docs/performance.md has the whole path).
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/model/layout.h"
#include "ps_server/optimizers/sgd_variants.h"

namespace weir {
namespace {

constexpr std::size_t kOffset = 13;

void Sgd(benchmark::State& state, const ps::SgdVariant& variant) {
  const auto elements = static_cast<std::size_t>(state.range(0)) / sizeof(float);
  std::vector<float> weights(elements, 1.0F);
  std::vector<std::byte> segment(elements * sizeof(float) + 2 * 64);
  const std::size_t misalignment = reinterpret_cast<std::uintptr_t>(segment.data()) % 64;
  const std::byte* gradient = segment.data() + (64 - misalignment) % 64 + kOffset;
  for (auto _ : state) {
    variant.apply(weights.data(), weights.data(), gradient, elements, 0.5F);
    benchmark::DoNotOptimize(weights.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * 3 * state.range(0));
}

const int kRegistered = [] {
  for (const ps::SgdVariant& variant : ps::SgdVariants()) {
    if (!variant.runs_here) continue;
    benchmark::RegisterBenchmark((std::string("Sgd/") + variant.name).c_str(),
                                 [&variant](benchmark::State& state) { Sgd(state, variant); })
        ->Arg(kMaxBlockBytes)
        ->Arg(1 << 20)
        ->Arg(64 << 20);
  }
  return 0;
}();

}  // namespace
}  // namespace weir
