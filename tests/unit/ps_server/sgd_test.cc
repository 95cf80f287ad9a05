#include "ps_server/optimizers/sgd.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "ps_server/optimizers/sgd_variants.h"

namespace weir::ps {
namespace {

struct Input {
  std::vector<float> from;
  std::vector<std::byte> bytes;  // the gradient from byte `shift` on
  std::size_t shift;
  const std::byte* gradient() const { return bytes.data() + shift; }
};

Input MakeInput(std::size_t elements, std::size_t shift) {
  std::mt19937 random(static_cast<std::uint32_t>(elements * 7 + shift));
  std::vector<float> gradient(elements);
  Input input{.from = std::vector<float>(elements),
              .bytes = std::vector<std::byte>(elements * 4 + shift),
              .shift = shift};
  // Any bits at all: normal numbers, denormals, infinities and NaNs of every payload.
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint32_t a = i % 3 == 0 ? random() : 0x3F000000U + random() % 0x1000000U;
    const std::uint32_t b = i % 5 == 0 ? random() : 0x3F000000U + random() % 0x1000000U;
    std::memcpy(&input.from[i], &a, 4);
    std::memcpy(&gradient[i], &b, 4);
  }
  std::ranges::copy(std::as_bytes(std::span(gradient)),
                    input.bytes.begin() + static_cast<std::ptrdiff_t>(shift));
  return input;
}

TEST(SgdTest, EveryVariantGivesTheScalarBits) {
  const SgdVariant& scalar = SgdVariants().front();
  int skipped = 0;
  for (const SgdVariant& variant : SgdVariants()) {
    if (!variant.runs_here) {
      ++skipped;
      continue;
    }
    for (std::size_t elements : {0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 1000}) {
      for (std::size_t shift : {0, 1, 2, 3, 4, 13}) {
        const Input input = MakeInput(elements, shift);
        std::vector<float> expected(elements + 1, 42.0F);
        std::vector<float> actual(elements + 1, 42.0F);
        scalar.apply(input.from.data(), expected.data(), input.gradient(), elements, 0.1F);
        variant.apply(input.from.data(), actual.data(), input.gradient(), elements, 0.1F);
        ASSERT_EQ(std::memcmp(expected.data(), actual.data(), actual.size() * 4), 0)
            << variant.name << " with " << elements << " elements at offset " << shift;
        std::vector<float> in_place = input.from;
        variant.apply(in_place.data(), in_place.data(), input.gradient(), elements, 0.1F);
        in_place.push_back(42.0F);
        ASSERT_EQ(std::memcmp(expected.data(), in_place.data(), in_place.size() * 4), 0)
            << variant.name;
      }
    }
  }
  if (skipped > 0) GTEST_SKIP() << skipped << " variants need another CPU; the others passed";
}

TEST(SgdTest, MultipliesAndSubtractsWithoutFusing) {
  // 1 - 3 * (1/3): fused it keeps the product's rounding error, -2^-25; in two steps it is 0.
  const float third = 1.0F / 3.0F;
  for (const SgdVariant& variant : SgdVariants()) {
    if (!variant.runs_here) continue;
    std::vector<float> values(40, 1.0F);
    const std::vector<float> gradient(40, third);
    variant.apply(values.data(), values.data(), std::as_bytes(std::span(gradient)).data(), 40,
                  3.0F);
    for (float value : values) EXPECT_EQ(value, 0.0F) << variant.name;
  }
}

TEST(SgdTest, AppliesNanAndInfinityAsTheyCome) {
  const std::vector<float> from = {1.0F, 1.0F};
  const std::vector<float> gradient = {std::numeric_limits<float>::quiet_NaN(),
                                       std::numeric_limits<float>::infinity()};
  std::vector<float> to(2);
  ApplySgd(from, to, std::as_bytes(std::span(gradient)), 0.5F);
  EXPECT_NE(to[0], to[0]);
  EXPECT_EQ(to[1], -std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace weir::ps
