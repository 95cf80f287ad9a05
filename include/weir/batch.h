#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weir {

/// A run of examples: features row-major [size, feature_shape...], one class label each.
/// Borrowed from the iterator that gave it, until its next Next.
struct Batch {
  int size = 0;                          ///< examples
  std::span<const float> features;       ///< all of them, one after the other
  std::span<const std::int32_t> labels;  ///< one an example
};

}  // namespace weir
