#include "common/checkpoint/tool/float_scan.h"

#include <bit>

namespace weir {
namespace {

constexpr std::uint32_t kMagnitude = 0x7fffffff;
constexpr std::uint32_t kInfinity = 0x7f800000;

}  // namespace

void CountNonFinite(std::span<const float> values, NonFinite& count) {
  // By bits, so that no floating-point option of a compiler can leave the test out.
  std::uint64_t nan = 0;
  std::uint64_t infinite = 0;
  for (const float value : values) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & kMagnitude;
    nan += magnitude > kInfinity ? 1 : 0;
    infinite += magnitude == kInfinity ? 1 : 0;
  }
  count.nan += nan;
  count.infinite += infinite;
}

}  // namespace weir
