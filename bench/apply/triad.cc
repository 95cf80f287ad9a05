#include "bench/apply/triad.h"

#include <cassert>
#include <cstddef>

namespace weir::bench {
namespace {

using Loop = void (*)(const float* a, const float* b, float factor, float* to,
                      std::size_t elements);

__attribute__((always_inline)) inline void Plain(const float* __restrict a,
                                                 const float* __restrict b, float factor,
                                                 float* __restrict to, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) to[i] = a[i] + factor * b[i];
}

void Baseline(const float* a, const float* b, float factor, float* to, std::size_t elements) {
  Plain(a, b, factor, to, elements);
}

#if defined(__x86_64__)
// The vector width is the one thing that is not left to the compiler: by itself it takes half.
__attribute__((target("avx2"))) void Avx2(const float* a, const float* b, float factor, float* to,
                                          std::size_t elements) {
  Plain(a, b, factor, to, elements);
}
__attribute__((target("avx512f,prefer-vector-width=512"))) void Avx512(const float* a,
                                                                       const float* b, float factor,
                                                                       float* to,
                                                                       std::size_t elements) {
  Plain(a, b, factor, to, elements);
}
#endif

Loop Best() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return Avx512;
  if (__builtin_cpu_supports("avx2")) return Avx2;
#endif
  return Baseline;
}

}  // namespace

void Triad(std::span<const float> a, std::span<const float> b, float factor, std::span<float> to) {
  assert(a.size() == b.size() && b.size() == to.size());
  static const Loop best = Best();
  best(a.data(), b.data(), factor, to.data(), to.size());
}

}  // namespace weir::bench
