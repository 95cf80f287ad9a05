#include "bench/common/pattern.h"

#include <vector>

#include "gtest/gtest.h"

namespace weir::bench {
namespace {

// Longer than the piece that is copied at a time, and no multiple of it.
constexpr std::size_t kElements = 10'001;

/// What a shard with learning rate 1 would hold, one element at a time.
std::vector<float> SerialSum(std::uint64_t pushes, int workers, std::size_t tensor) {
  std::vector<float> weights(kElements, 0.0F);
  std::vector<float> gradient(kElements);
  for (std::uint64_t push = 0; push < pushes; ++push) {
    for (int worker = 0; worker < workers; ++worker) {
      FillGradient(push, worker, tensor, gradient);
      for (std::size_t i = 0; i < kElements; ++i) weights[i] -= gradient[i];
    }
  }
  return weights;
}

TEST(PatternTest, TheGradientIsAsItsHeaderSays) {
  std::vector<float> gradient(kElements);
  FillGradient(4, 2, 3, gradient);
  for (const std::size_t i : {std::size_t{0}, std::size_t{5}, kElements - 1}) {
    EXPECT_EQ(gradient[i], static_cast<float>((i + 4 + 3 * 2 + 5 * 3) % 7)) << i;
  }
}

TEST(PatternTest, TheSerialSumIsRight) {
  for (const std::uint64_t pushes : {0, 1, 6, 7, 30}) {
    EXPECT_EQ(CountWrong(pushes, 3, 2, SerialSum(pushes, 3, 2)), 0U) << pushes;
  }
}

TEST(PatternTest, EachWrongElementIsCounted) {
  std::vector<float> weights = SerialSum(9, 2, 0);
  weights[0] += 1;
  weights[kElements - 1] -= 1;
  EXPECT_EQ(CountWrong(9, 2, 0, weights), 2U);
}

TEST(PatternTest, ALostARepeatedAndAnotherTensorsPushAreWrong) {
  const std::vector<float> weights = SerialSum(9, 2, 0);
  EXPECT_GT(CountWrong(8, 2, 0, weights), kElements / 2);
  EXPECT_GT(CountWrong(10, 2, 0, weights), kElements / 2);
  EXPECT_GT(CountWrong(9, 1, 0, weights), kElements / 2);
  EXPECT_GT(CountWrong(9, 2, 1, weights), kElements / 2);
  // A whole period more, too: no sum is hidden by the pattern's repeating.
  EXPECT_EQ(CountWrong(16, 2, 0, weights), kElements);
}

TEST(PatternTest, WhatIsPoisonedIsWrongWhateverWasPushed) {
  std::vector<float> weights = SerialSum(7, 1, 0);
  Poison(weights);
  for (const std::uint64_t pushes : {0, 1, 7}) {
    EXPECT_EQ(CountWrong(pushes, 1, 0, weights), kElements);
  }
}

}  // namespace
}  // namespace weir::bench
