#pragma once

#include <cstdint>
#include <span>

#include "weir/tensor_spec.h"

namespace weir {

/// Fills `values` with the initial values of elements [offset, offset + values.size()) of `tensor`.
/// A value depends on seed, tensor name and element only: any sharding gives the same weights.
void InitializeTensor(const TensorSpec& tensor, std::uint64_t seed, std::int64_t offset,
                      std::span<float> values);

}  // namespace weir
