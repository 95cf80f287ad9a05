#include "common/checkpoint/tool/float_conversion.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace weir {
namespace {

template <typename T>
T Load(ByteSpan raw, std::size_t index) {
  T value;
  std::memcpy(&value, raw.data() + index * sizeof value, sizeof value);
  return value;
}

/// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
float FromHalf(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16;
  const std::uint32_t exponent = half >> 10 & 0x1fU;
  const std::uint32_t fraction = half & 0x3ffU;
  if (exponent == 0) {  // zero and the subnormal: fraction * 2^-24
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 127 - 15;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

/// The upper half of a float.
float FromBrain(std::uint16_t brain) { return std::bit_cast<float>(std::uint32_t{brain} << 16); }

/// A conversion of what is out of range would be undefined.
float FromDouble(double value) {
  const double magnitude = std::abs(value);
  // Half a unit in the last place beyond the largest float: from here on the nearest is infinity.
  constexpr double kLimit = 0x1.ffffffp127;
  if (magnitude >= kLimit) {
    return static_cast<float>(std::copysign(std::numeric_limits<float>::infinity(), value));
  }
  if (magnitude > static_cast<double>(std::numeric_limits<float>::max())) {
    return static_cast<float>(std::copysign(std::numeric_limits<float>::max(), value));
  }
  return static_cast<float>(value);
}

}  // namespace

bool ConvertsToFloat(absl::string_view dtype) {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16" || dtype == "F64";
}

void ToFloats(absl::string_view dtype, ByteSpan raw, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (dtype == "F16") {
      out[i] = FromHalf(Load<std::uint16_t>(raw, i));
    } else if (dtype == "BF16") {
      out[i] = FromBrain(Load<std::uint16_t>(raw, i));
    } else if (dtype == "F64") {
      out[i] = FromDouble(Load<double>(raw, i));
    } else {
      out[i] = Load<float>(raw, i);
    }
  }
}

}  // namespace weir
