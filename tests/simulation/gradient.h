#pragma once

#include <cstdint>

#include "common/base/ids.h"
#include "tests/simulation/history.h"

namespace weir::sim {

/// One element of the gradient of one push: a small integer that follows from its name alone, so
/// that sums are exact in any order and any bytes can be checked against what they should be.
inline float GradientOf(const Life& life, Sequence sequence, BlockId block, std::size_t element) {
  std::uint64_t x = life.incarnation.value() * 0x9E3779B97F4A7C15U +
                    sequence.value() * 0xBF58476D1CE4E5B9U + block.value() * 0x94D049BB133111EBU +
                    element * 0xD6E8FEB86659FD93U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  x ^= x >> 31;
  return static_cast<float>(static_cast<int>(x % 15) - 7);
}

/// A block's first values: integers too.
inline float InitialValue(BlockId block, std::size_t element) {
  return static_cast<float>(block.value() * 3 + element);
}

}  // namespace weir::sim
