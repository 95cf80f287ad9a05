#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;

template <typename T>
ByteSpan AsBytes(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

}  // namespace weir
