#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir {

/// Bits that an element of `dtype` takes; 0 for one that the published format does not list.
/// Those below a byte (F4, F6_E2M3, F6_E3M2) are packed.
unsigned SafetensorsBits(absl::string_view dtype);

/// Bytes of a tensor, by dtype and shape; a dimension of 0 makes it 0, whatever the others are.
/// Errors, without the tensor's name: kDataLoss for an unknown dtype, a negative dimension, a size
/// beyond 2^63 - 1, or one that is no whole number of bytes.
absl::StatusOr<std::uint64_t> SafetensorsBytes(absl::string_view dtype,
                                               std::span<const std::int64_t> shape);

}  // namespace weir
