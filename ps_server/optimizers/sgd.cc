#include "ps_server/optimizers/sgd.h"

#include <array>
#include <cassert>
#include <cstring>

#include "ps_server/optimizers/sgd_variants.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::ps {
namespace {

// memcpy because the gradient lies in a receive segment, at any alignment. `lr` first in the
// product and the value first in the difference, as in the vector code: that decides whose NaN
// bits survive.
void ApplyScalar(const float* from, float* to, const std::byte* gradient, std::size_t elements,
                 float learning_rate) {
  for (std::size_t i = 0; i < elements; ++i) {
    float g;
    std::memcpy(&g, gradient + i * sizeof(float), sizeof(float));
    to[i] = from[i] - learning_rate * g;
  }
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) void ApplyAvx2(const float* from, float* to,
                                               const std::byte* gradient, std::size_t elements,
                                               float learning_rate) {
  constexpr std::size_t kLanes = 8;
  const __m256 rate = _mm256_set1_ps(learning_rate);
  std::size_t i = 0;
  for (; i + kLanes <= elements; i += kLanes) {
    const __m256 g = _mm256_loadu_ps(reinterpret_cast<const float*>(gradient) + i);
    _mm256_storeu_ps(to + i, _mm256_sub_ps(_mm256_loadu_ps(from + i), _mm256_mul_ps(rate, g)));
  }
  ApplyScalar(from + i, to + i, gradient + i * sizeof(float), elements - i, learning_rate);
}

__attribute__((target("avx512f"))) void ApplyAvx512(const float* from, float* to,
                                                    const std::byte* gradient, std::size_t elements,
                                                    float learning_rate) {
  constexpr std::size_t kLanes = 16;
  const __m512 rate = _mm512_set1_ps(learning_rate);
  for (std::size_t i = 0; i < elements; i += kLanes) {
    const std::size_t left = elements - i;
    const __mmask16 mask =
        left >= kLanes ? __mmask16{0xFFFF} : static_cast<__mmask16>((1U << left) - 1U);
    const __m512 g = _mm512_maskz_loadu_ps(mask, gradient + i * sizeof(float));
    const __m512 value = _mm512_maskz_loadu_ps(mask, from + i);
    _mm512_mask_storeu_ps(to + i, mask, _mm512_sub_ps(value, _mm512_mul_ps(rate, g)));
  }
}

#endif

std::span<const SgdVariant> Detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  static const std::array<SgdVariant, 3> variants = {
      SgdVariant{"scalar", true, ApplyScalar},
      SgdVariant{"avx2", __builtin_cpu_supports("avx2") != 0, ApplyAvx2},
      SgdVariant{"avx512f", __builtin_cpu_supports("avx512f") != 0, ApplyAvx512}};
#else
  static const std::array<SgdVariant, 1> variants = {SgdVariant{"scalar", true, ApplyScalar}};
#endif
  return variants;
}

const SgdVariant& Best() {
  const SgdVariant* best = nullptr;
  for (const SgdVariant& variant : SgdVariants()) {
    if (variant.runs_here) best = &variant;
  }
  return *best;
}

}  // namespace

std::span<const SgdVariant> SgdVariants() {
  static const std::span<const SgdVariant> variants = Detect();
  return variants;
}

void ApplySgd(std::span<const float> from, std::span<float> to, ByteSpan gradient,
              float learning_rate) {
  assert(to.size() == from.size() && gradient.size() == from.size_bytes());
  static const SgdVariant& best = Best();
  best.apply(from.data(), to.data(), gradient.data(), from.size(), learning_rate);
}

}  // namespace weir::ps
