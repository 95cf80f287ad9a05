// Our own max-pooling against the plain loops, bit for bit.
#include "worker/nn/max_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace weir::nn {
namespace {

constexpr std::int64_t kImages = 3;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::size_t At(const ImageLayout& layout, std::int64_t image, std::int64_t channel,
               std::int64_t row, std::int64_t column) {
  const std::int64_t group = channel / layout.block;
  return static_cast<std::size_t>(image * layout.floats() + group * layout.group_floats() +
                                  (row * layout.width + column) * layout.block +
                                  channel % layout.block);
}

std::size_t Floats(const ImageLayout& layout) {
  return static_cast<std::size_t>(kImages * layout.floats());
}

// What MaxPool promises, one pixel at a time.
struct Reference {
  Reference(const MaxPool& pool, const std::vector<float>& input,
            const std::vector<float>& output_gradient)
      : output(Floats(pool.out)), input_gradient(Floats(pool.in)) {
    for (std::int64_t image = 0; image < kImages; ++image) {
      for (std::int64_t channel = 0; channel < pool.in.channels; ++channel) {
        for (std::int64_t row = 0; row < pool.out.height; ++row) {
          for (std::int64_t column = 0; column < pool.out.width; ++column) {
            Pool(pool, image, channel, row, column, input, output_gradient);
          }
        }
      }
    }
  }

  void Pool(const MaxPool& pool, std::int64_t image, std::int64_t channel, std::int64_t row,
            std::int64_t column, const std::vector<float>& input,
            const std::vector<float>& output_gradient) {
    const Window& window = pool.window;
    bool found = pool.relu;
    float best = 0;
    float* winner = nullptr;
    for (std::int64_t r = 0; r < window.size[0]; ++r) {
      for (std::int64_t c = 0; c < window.size[1]; ++c) {
        const std::int64_t y = row * window.stride[0] - window.pad_before[0] + r;
        const std::int64_t x = column * window.stride[1] - window.pad_before[1] + c;
        if (y < 0 || x < 0 || y >= pool.in.height || x >= pool.in.width) continue;
        const std::size_t at = At(pool.in, image, channel, y, x);
        if (found && !(input[at] > best) && !std::isnan(input[at])) continue;
        found = true;
        best = input[at];
        winner = &input_gradient[at];
      }
    }
    const std::size_t to = At(pool.out, image, channel, row, column);
    output[to] = best;
    if (winner != nullptr) *winner += output_gradient[to];
  }

  std::vector<float> output, input_gradient;
};

void ExpectSame(const ImageLayout& layout, const std::vector<float>& got,
                const std::vector<float>& want, const std::string& what) {
  for (std::int64_t image = 0; image < kImages; ++image) {
    for (std::int64_t channel = 0; channel < layout.channels; ++channel) {
      for (std::int64_t row = 0; row < layout.height; ++row) {
        for (std::int64_t column = 0; column < layout.width; ++column) {
          const std::size_t at = At(layout, image, channel, row, column);
          const bool same = got[at] == want[at] || (std::isnan(got[at]) && std::isnan(want[at]));
          ASSERT_TRUE(same) << what << ": image " << image << " channel " << channel << " row "
                            << row << " column " << column << " is " << got[at] << ", not "
                            << want[at];
        }
      }
    }
  }
}

void ExpectAsReference(const MaxPool& pool, const std::vector<float>& input) {
  std::vector<float> output_gradient(Floats(pool.out));
  for (std::size_t i = 0; i < output_gradient.size(); ++i) {
    output_gradient[i] = 1.0F + static_cast<float>(i % 97);
  }
  std::vector<float> output(Floats(pool.out), -77);
  std::vector<std::int32_t> positions(output.size());
  std::vector<float> input_gradient(Floats(pool.in), kNaN);
  pool.Forward(kImages, input.data(), output.data(), positions.data());
  pool.Backward(kImages, output_gradient.data(), positions.data(), input_gradient.data());
  const Reference want(pool, input, output_gradient);
  ExpectSame(pool.out, output, want.output, "output");
  ExpectSame(pool.in, input_gradient, want.input_gradient, "input gradient");
}

struct Shape {
  std::int64_t height, width;
  Window window;
};

std::vector<Shape> Shapes() {
  return {{6, 8, {{2, 2}, {2, 2}, {0, 0}, {0, 0}}},  // tiles
          {7, 9, {{2, 2}, {2, 2}, {0, 0}, {0, 0}}},  // a row and a column are in no window
          {7, 9, {{2, 2}, {2, 2}, {0, 0}, {1, 1}}},  // Keras's "same"
          {7, 6, {{3, 2}, {1, 2}, {1, 0}, {1, 0}}},  // overlapping
          {5, 5, {{3, 3}, {2, 2}, {1, 1}, {1, 1}}},
          {9, 7, {{2, 1}, {3, 2}, {0, 0}, {0, 0}}},  // gaps
          {4, 5, {{4, 5}, {4, 5}, {0, 0}, {0, 0}}},  // the whole image
          {17, 16, {{17, 16}, {1, 1}, {0, 0}, {0, 0}}}};
}

// Few different values, so that most windows have ties.
float AnyValue(std::mt19937& random) {
  constexpr float kValues[] = {-2, -1, -0.0F, 0, 1, 2, 1e-40F, -1e-40F};
  return kValues[random() % std::size(kValues)];
}

float AnyValueOrNaN(std::mt19937& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kValues[] = {kNaN, kInfinity, -kInfinity};
  const auto which = random() % 10;
  return which < std::size(kValues) ? kValues[which] : AnyValue(random);
}

void ExpectAllShapesAsReference(float (*value)(std::mt19937&)) {
  std::mt19937 random(7);
  for (const Shape& shape : Shapes()) {
    const Window& window = shape.window;
    const auto out = [&](int axis, std::int64_t in) {
      return (in + window.pad_before[axis] + window.pad_after[axis] - window.size[axis]) /
                 window.stride[axis] +
             1;
    };
    for (const std::int64_t channels : {1, 8, 11, 32}) {
      for (const std::int64_t block :
           {std::int64_t{1}, std::int64_t{8}, std::int64_t{16}, channels}) {
        for (const bool to_nhwc : {false, true}) {
          SCOPED_TRACE(absl::StrCat(shape.height, "x", shape.width, " window ", window.size[0], "x",
                                    window.size[1], " channels ", channels, " block ", block,
                                    to_nhwc ? " to nhwc" : ""));
          MaxPool pool{.in = {shape.height, shape.width, channels, block},
                       .out = {out(0, shape.height), out(1, shape.width), channels,
                               to_nhwc ? channels : block},
                       .window = window,
                       .relu = false};
          std::vector<float> input(Floats(pool.in));
          for (float& pixel : input) pixel = value(random);
          ExpectAsReference(pool, input);
          pool.relu = true;
          ExpectAsReference(pool, input);
        }
      }
    }
  }
}

TEST(MaxPool, IsTheReferenceInEveryLayoutWithTies) { ExpectAllShapesAsReference(AnyValue); }

TEST(MaxPool, NaNAndInfinityAreSeen) { ExpectAllShapesAsReference(AnyValueOrNaN); }

TEST(MaxPool, FirstOfEqualsWins) {
  const MaxPool pool{.in = {2, 2, 1, 1},
                     .out = {1, 1, 1, 1},
                     .window = {{2, 2}, {2, 2}, {0, 0}, {0, 0}},
                     .relu = false};
  const float input[] = {3, 5, 5, 5};
  float output = 0;
  std::int32_t position = 0;
  pool.Forward(1, input, &output, &position);
  EXPECT_EQ(output, 5);
  EXPECT_EQ(position, 1);
}

}  // namespace
}  // namespace weir::nn
