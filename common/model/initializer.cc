#include "common/model/initializer.h"

#include <algorithm>
#include <cmath>

#include "common/base/checksum.h"

namespace weir {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014) as a counter-based generator.
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

float GlorotLimit(const TensorSpec& tensor) {
  const auto& shape = tensor.shape;
  if (shape.empty()) return std::sqrt(6.0F / 2.0F);
  double receptive = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) receptive *= static_cast<double>(shape[i]);
  const double out = receptive * static_cast<double>(shape.back());
  const double in =
      shape.size() < 2 ? out : receptive * static_cast<double>(shape[shape.size() - 2]);
  return static_cast<float>(std::sqrt(6.0 / std::max(1.0, in + out)));
}

}  // namespace

void InitializeTensor(const TensorSpec& tensor, std::uint64_t seed, std::int64_t offset,
                      std::span<float> values) {
  switch (tensor.initializer) {
    case Initializer::kZeros:
      std::ranges::fill(values, 0.0F);
      return;
    case Initializer::kGlorotUniform: {
      const std::uint64_t key = Mix(seed) ^ Checksum(std::as_bytes(std::span(tensor.name)));
      const float limit = GlorotLimit(tensor);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint64_t bits = Mix(key ^ (static_cast<std::uint64_t>(offset) + i)) >> 40;
        values[i] = limit * (static_cast<float>(bits) * 0x1p-23F - 1.0F);
      }
      return;
    }
  }
}

}  // namespace weir
