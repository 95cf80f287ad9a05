#include "bench/common/pattern.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace weir::bench {
namespace {

constexpr std::size_t kPeriod = 7;
constexpr std::uint64_t kSumOfPeriod = 21;  // 0 + 1 + ... + 6
// Copied and compared piece by piece, at the speed of memory: the pattern repeats after each.
constexpr std::size_t kPiece = kPeriod * 512;
using Piece = std::array<float, kPiece>;

/// As much of `piece` as `elements` need: a small tensor must not sweep the cache.
template <typename Value>
void Repeat(Value value, std::size_t elements, Piece& piece) {
  const std::size_t count = std::min(kPiece, elements);
  for (std::size_t i = 0; i < count; ++i) {
    piece[i] = i < kPeriod ? value(i) : piece[i - kPeriod];
  }
}

std::uint64_t Phase(std::uint64_t push, std::size_t worker, std::size_t tensor) {
  return push + 3 * worker + 5 * tensor;
}

}  // namespace

void FillGradient(std::uint64_t push, int worker, std::size_t tensor, std::span<float> gradient) {
  const std::uint64_t phase = Phase(push, static_cast<std::size_t>(worker), tensor);
  Piece piece;
  Repeat([&](std::size_t i) { return static_cast<float>((i + phase) % kPeriod); }, gradient.size(),
         piece);
  for (std::size_t done = 0; done < gradient.size(); done += kPiece) {
    const std::size_t count = std::min(kPiece, gradient.size() - done);
    std::memcpy(gradient.data() + done, piece.data(), count * sizeof(float));
  }
}

std::uint64_t CountWrong(std::uint64_t pushes, int workers, std::size_t tensor,
                         std::span<const float> values) {
  const auto value = [&](std::size_t i) {
    std::uint64_t sum = 0;
    for (std::size_t worker = 0; worker < static_cast<std::size_t>(workers); ++worker) {
      sum += pushes / kPeriod * kSumOfPeriod;
      for (std::uint64_t rest = 0; rest < pushes % kPeriod; ++rest) {
        sum += (i + Phase(rest, worker, tensor)) % kPeriod;
      }
    }
    // Negated as an integer: that has no -0, which no weight would be.
    return static_cast<float>(-static_cast<std::int64_t>(sum));
  };
  Piece piece;
  Repeat(value, values.size(), piece);
  std::uint64_t wrong = 0;
  for (std::size_t done = 0; done < values.size(); done += kPiece) {
    const auto part = values.subspan(done, std::min(kPiece, values.size() - done));
    if (std::memcmp(part.data(), piece.data(), part.size_bytes()) == 0) continue;
    for (std::size_t i = 0; i < part.size(); ++i) {
      wrong += std::bit_cast<std::uint32_t>(part[i]) != std::bit_cast<std::uint32_t>(piece[i]);
    }
  }
  return wrong;
}

void Poison(std::span<float> values) { std::ranges::fill(values, 1.0F); }

}  // namespace weir::bench
