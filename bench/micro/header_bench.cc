// What a header costs to make and to read: a fixed struct (schemas/data.fbs), with a length check.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "common/base/bytes.h"
#include "common/net/wire_message.h"
#include "schemas/data_generated.h"

namespace weir {
namespace {

wire::PushBlock Header(std::uint64_t sequence) {
  return wire::PushBlock(/*session=*/7, /*incarnation=*/9, sequence, /*base_version=*/1,
                         /*step=*/1, /*view=*/1, /*block=*/3, /*clock=*/1, /*blocks_here=*/1,
                         /*worker=*/0, /*codec=*/0, /*reserved=*/0);
}

void EncodePush(benchmark::State& state) {
  std::uint64_t sequence = 0;
  for (auto _ : state) {
    wire::PushBlock header = Header(++sequence);
    benchmark::DoNotOptimize(header);
  }
}
BENCHMARK(EncodePush);

void DecodePush(benchmark::State& state) {
  const wire::PushBlock header = Header(1);
  ByteSpan bytes = AsBytes(header);
  for (auto _ : state) {
    benchmark::DoNotOptimize(bytes);
    auto read = net::ReadHeader<wire::PushBlock>(bytes);
    benchmark::DoNotOptimize(read);
  }
}
BENCHMARK(DecodePush);

}  // namespace
}  // namespace weir
