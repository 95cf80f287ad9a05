#include "common/checkpoint/tool/float_conversion.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "common/checkpoint/tool/float_scan.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();

template <typename T>
float Convert(const char* dtype, T value) {
  float result = 0;
  ToFloats(dtype, AsBytes(value), std::span(&result, 1));
  return result;
}

/// The definition of IEEE 754 binary16, by arithmetic.
double HalfValue(unsigned half) {
  const double sign = (half & 0x8000U) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(half >> 10 & 0x1fU);
  const double fraction = half & 0x3ffU;
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * fraction * std::pow(2.0, -24);
  return sign * (1 + fraction / 1024) * std::pow(2.0, exponent - 15);
}

TEST(FloatConversionTest, EveryHalf) {
  for (unsigned half = 0; half < 65536; ++half) {
    const float found = Convert("F16", static_cast<std::uint16_t>(half));
    const double wanted = HalfValue(half);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(found)) << half;
    } else {
      ASSERT_EQ(found, wanted) << half;
      ASSERT_EQ(std::signbit(found), std::signbit(wanted)) << half;
    }
  }
}

TEST(FloatConversionTest, BrainFloatsAreTheUpperHalf) {
  EXPECT_EQ(Convert("BF16", std::uint16_t{0x3f80}), 1);
  EXPECT_EQ(Convert("BF16", std::uint16_t{0xff80}), -kInf);
  EXPECT_TRUE(std::isnan(Convert("BF16", std::uint16_t{0x7fc0})));
}

TEST(FloatConversionTest, DoublesAreRounded) {
  EXPECT_EQ(Convert("F64", 1.0 + 0x1p-25), 1);
  EXPECT_EQ(Convert("F64", -static_cast<double>(kMax)), -kMax);
  EXPECT_EQ(Convert("F64", std::nextafter(0x1.ffffffp127, 0.0)), kMax);
  EXPECT_EQ(Convert("F64", 0x1.ffffffp127), kInf);
  EXPECT_EQ(Convert("F64", -1e300), -kInf);
  EXPECT_TRUE(std::isnan(Convert("F64", std::nan(""))));
}

TEST(FloatConversionTest, KnowsWhatItConverts) {
  for (const char* dtype : {"F32", "F16", "BF16", "F64"}) EXPECT_TRUE(ConvertsToFloat(dtype));
  for (const char* dtype : {"I32", "F8_E4M3", "C64", "BOOL", ""}) {
    EXPECT_FALSE(ConvertsToFloat(dtype));
  }
}

TEST(FloatScanTest, TellsNanFromInfinity) {
  NonFinite count{.nan = 1};
  CountNonFinite(std::vector<float>{0, -0.0F, kMax, 1e-45F, kInf, -kInf, NAN, -NAN}, count);
  EXPECT_EQ(count.nan, 3U);
  EXPECT_EQ(count.infinite, 2U);
}

}  // namespace
}  // namespace weir
