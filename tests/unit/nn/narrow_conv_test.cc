// The gradient of a convolution by its weights against the sum that defines it.
#include "worker/nn/narrow_conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker/nn/threads.h"

namespace weir::nn {
namespace {

constexpr std::int64_t kBatch = 5;

struct Case {
  ImageLayout in;
  ImageLayout out;
  Window window;
};

std::vector<Case> Cases() {
  return {{{8, 9, 1, 1}, {6, 7, 32, 8}, {{3, 3}, {1, 1}, {0, 0}, {0, 0}}},  // the tutorial's kind
          {{8, 9, 1, 1}, {6, 7, 32, 16}, {{3, 3}, {1, 1}, {0, 0}, {0, 0}}},
          {{8, 9, 2, 1}, {8, 9, 11, 8}, {{3, 3}, {1, 1}, {1, 1}, {1, 1}}},   // a part of a group
          {{7, 6, 3, 1}, {4, 3, 24, 24}, {{2, 5}, {2, 2}, {0, 1}, {1, 2}}},  // nhwc
          {{9, 8, 1, 1}, {3, 2, 8, 8}, {{1, 2}, {3, 5}, {0, 0}, {0, 0}}}};   // gaps
}

struct Gradients {
  std::vector<float> kernel, bias;
  bool operator==(const Gradients&) const = default;
};

Gradients GradientsOf(const Case& c, const std::vector<float>& input,
                      const std::vector<float>& gradient) {
  const auto filters = static_cast<std::size_t>(c.out.channels);
  const auto taps = static_cast<std::size_t>(c.window.size[0] * c.window.size[1] * c.in.channels);
  Gradients result{std::vector<float>(taps * filters, -77), std::vector<float>(filters, -77)};
  NarrowConvGradient conv(c.in, c.out, c.window);
  // The second run must not see the first.
  for (int run = 0; run < 2; ++run) {
    conv.Run(kBatch, input.data(), gradient.data(), result.kernel.data(), result.bias.data());
  }
  return result;
}

double TapGradient(const Case& c, const std::vector<float>& input,
                   const std::vector<float>& gradient, std::int64_t kernel_row,
                   std::int64_t kernel_column, std::int64_t channel, std::int64_t filter) {
  double sum = 0;
  const std::int64_t group = filter / c.out.block;
  for (std::int64_t image = 0; image < kBatch; ++image) {
    for (std::int64_t row = 0; row < c.out.height; ++row) {
      for (std::int64_t column = 0; column < c.out.width; ++column) {
        const std::int64_t y = row * c.window.stride[0] - c.window.pad_before[0] + kernel_row;
        const std::int64_t x = column * c.window.stride[1] - c.window.pad_before[1] + kernel_column;
        if (y < 0 || x < 0 || y >= c.in.height || x >= c.in.width) continue;
        const auto from = static_cast<std::size_t>(image * c.in.floats() +
                                                   (channel * c.in.height + y) * c.in.width + x);
        const auto to = static_cast<std::size_t>(
            image * c.out.floats() + group * c.out.group_floats() +
            (row * c.out.width + column) * c.out.block + filter % c.out.block);
        sum += static_cast<double>(input[from]) * gradient[to];
      }
    }
  }
  return sum;
}

struct Data {
  explicit Data(const Case& c)
      : input(static_cast<std::size_t>(kBatch * c.in.floats())),
        gradient(static_cast<std::size_t>(kBatch * c.out.floats())) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& f : input) f = uniform(random);
    for (float& f : gradient) f = uniform(random);
  }
  std::vector<float> input, gradient;
};

TEST(NarrowConvGradient, IsTheSumOverImagesAndPixels) {
  for (const Case& c : Cases()) {
    const Data data(c);
    const ScopedThreads scope(1);
    const Gradients got = GradientsOf(c, data.input, data.gradient);
    std::size_t at = 0;
    for (std::int64_t row = 0; row < c.window.size[0]; ++row) {
      for (std::int64_t column = 0; column < c.window.size[1]; ++column) {
        for (std::int64_t channel = 0; channel < c.in.channels; ++channel) {
          for (std::int64_t filter = 0; filter < c.out.channels; ++filter, ++at) {
            EXPECT_NEAR(got.kernel[at],
                        TapGradient(c, data.input, data.gradient, row, column, channel, filter),
                        1e-4)
                << row << " " << column << " " << channel << " " << filter;
          }
        }
      }
    }
    ASSERT_EQ(at, got.kernel.size());
  }
}

TEST(NarrowConvGradient, SumsTheBias) {
  for (const Case& c : Cases()) {
    Data data(c);
    data.input.assign(data.input.size(), 0);
    const ScopedThreads scope(1);
    const Gradients got = GradientsOf(c, data.input, data.gradient);
    for (const float f : got.kernel) EXPECT_EQ(f, 0);
    // A bias is the weight of an input that is one everywhere.
    Case ones = c;
    ones.in = {c.out.height, c.out.width, 1, 1};
    ones.window = {{1, 1}, {1, 1}, {0, 0}, {0, 0}};
    const std::vector<float> one(static_cast<std::size_t>(kBatch * ones.in.floats()), 1.0F);
    for (std::int64_t filter = 0; filter < c.out.channels; ++filter) {
      EXPECT_NEAR(got.bias[static_cast<std::size_t>(filter)],
                  TapGradient(ones, one, data.gradient, 0, 0, 0, filter), 1e-4);
    }
  }
}

TEST(NarrowConvGradient, ThreadsShareTheImages) {
  const Case c = Cases()[0];
  const Data data(c);
  Gradients one, three;
  {
    const ScopedThreads scope(1);
    one = GradientsOf(c, data.input, data.gradient);
  }
  {
    const ScopedThreads scope(3);
    three = GradientsOf(c, data.input, data.gradient);
    EXPECT_EQ(three, GradientsOf(c, data.input, data.gradient));
  }
  for (std::size_t i = 0; i < one.kernel.size(); ++i) {
    EXPECT_NEAR(one.kernel[i], three.kernel[i], 1e-4);
  }
}

}  // namespace
}  // namespace weir::nn
