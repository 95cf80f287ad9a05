#include "common/checkpoint/safetensors_dtype.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

constexpr auto kMaxBytes = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

struct Width {
  absl::string_view dtype;
  unsigned bits;
};

// The reference implementation's list (huggingface/safetensors, safetensors/src/tensor.rs, 0.8).
constexpr std::array kWidths = {
    Width{"BOOL", 8},        Width{"F4", 4},   Width{"F6_E2M3", 6}, Width{"F6_E3M2", 6},
    Width{"U8", 8},          Width{"I8", 8},   Width{"F8_E5M2", 8}, Width{"F8_E4M3", 8},
    Width{"F8_E8M0", 8},     Width{"I16", 16}, Width{"U16", 16},    Width{"F8_E4M3FNUZ", 8},
    Width{"F8_E5M2FNUZ", 8}, Width{"F16", 16}, Width{"BF16", 16},   Width{"I32", 32},
    Width{"U32", 32},        Width{"F32", 32}, Width{"C64", 64},    Width{"F64", 64},
    Width{"I64", 64},        Width{"U64", 64},
};

template <typename... Parts>
absl::Status BadEntry(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat(parts...));
}

}  // namespace

unsigned SafetensorsBits(absl::string_view dtype) {
  const auto found = std::ranges::find(kWidths, dtype, &Width::dtype);
  return found == kWidths.end() ? 0 : found->bits;
}

absl::StatusOr<std::uint64_t> SafetensorsBytes(absl::string_view dtype,
                                               std::span<const std::int64_t> shape) {
  const unsigned bits = SafetensorsBits(dtype);
  if (bits == 0) {
    return BadEntry("dtype '", absl::Utf8SafeCHexEscape(dtype), "' is not known here");
  }
  if (std::ranges::any_of(shape, [](std::int64_t dimension) { return dimension < 0; })) {
    return BadEntry("a dimension is negative");
  }
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::uint64_t elements = 1;
  for (const std::int64_t dimension : shape) {
    if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(dimension), &elements)) {
      return BadEntry("its size overflows 64 bits");
    }
  }
  // In parts of eight elements, which take `bits` bytes: the bits alone may overflow.
  const std::uint64_t rest = elements % 8 * bits;
  if (rest % 8 != 0) {
    return BadEntry(elements, " elements of ", bits, " bits are no whole number of bytes");
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements / 8, std::uint64_t{bits}, &bytes) ||
      __builtin_add_overflow(bytes, rest / 8, &bytes) || bytes > kMaxBytes) {
    return BadEntry("its size overflows 64 bits");
  }
  return bytes;
}

}  // namespace weir
