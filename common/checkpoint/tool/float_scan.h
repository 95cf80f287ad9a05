#pragma once

#include <cstdint>
#include <span>

namespace weir {

/// Values that are no finite numbers.
struct NonFinite {
  std::uint64_t nan = 0;
  std::uint64_t infinite = 0;
};

/// Adds what `values` have of them.
void CountNonFinite(std::span<const float> values, NonFinite& count);

}  // namespace weir
