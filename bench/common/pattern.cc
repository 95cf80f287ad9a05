#include "bench/common/pattern.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace weir::bench {
namespace {

constexpr std::size_t kPeriod = 7;
constexpr std::uint64_t kSumOfPeriod = 21;  // 0 + 1 + ... + 6
// Copied piece by piece, at the speed of memory: the pattern repeats after each. What stands
// between two timed operations is to be short, for many small tensors too: meanwhile the caches
// belong to others.
constexpr std::size_t kPiece = kPeriod * 512;

/// 0, 1 ... 6, 0 ...: a piece from each of them on.
const std::array<float, kPiece + kPeriod>& Numbers() {
  static const auto numbers = [] {
    std::array<float, kPiece + kPeriod> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i % kPeriod);
    return all;
  }();
  return numbers;
}

std::uint64_t Phase(std::uint64_t push, std::size_t worker, std::size_t tensor) {
  return push + 3 * worker + 5 * tensor;
}

/// Minus the sum of element i of all gradients; as an integer: that has no -0, which no weight
/// would be.
float Expected(std::uint64_t pushes, int workers, std::size_t tensor, std::size_t i) {
  std::uint64_t sum = 0;
  for (std::size_t worker = 0; worker < static_cast<std::size_t>(workers); ++worker) {
    sum += pushes / kPeriod * kSumOfPeriod;
    for (std::uint64_t rest = 0; rest < pushes % kPeriod; ++rest) {
      sum += (i + Phase(rest, worker, tensor)) % kPeriod;
    }
  }
  return static_cast<float>(-static_cast<std::int64_t>(sum));
}

}  // namespace

void FillGradient(std::uint64_t push, int worker, std::size_t tensor, std::span<float> gradient) {
  const std::uint64_t phase = Phase(push, static_cast<std::size_t>(worker), tensor);
  const float* const piece = Numbers().data() + phase % kPeriod;
  for (std::size_t done = 0; done < gradient.size(); done += kPiece) {
    const std::size_t count = std::min(kPiece, gradient.size() - done);
    std::memcpy(gradient.data() + done, piece, count * sizeof(float));
  }
}

std::uint64_t CountWrong(std::uint64_t pushes, int workers, std::size_t tensor,
                         std::span<const float> values) {
  std::array<float, kPeriod> period;
  for (std::size_t i = 0; i < kPeriod; ++i) period[i] = Expected(pushes, workers, tensor, i);
  const std::size_t first = std::min(kPeriod, values.size());
  // Nothing is wrong where the first period is right, and each element what it was a period before.
  if (std::memcmp(values.data(), period.data(), first * sizeof(float)) == 0 &&
      std::memcmp(values.data(), values.data() + first, (values.size() - first) * sizeof(float)) ==
          0) {
    return 0;
  }
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    wrong += std::bit_cast<std::uint32_t>(values[i]) !=
             std::bit_cast<std::uint32_t>(period[i % kPeriod]);
  }
  return wrong;
}

void Poison(std::span<float> values) { std::ranges::fill(values, 1.0F); }

}  // namespace weir::bench
