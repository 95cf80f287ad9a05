// Gradients against double-sided differences of the loss.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/unit/nn/net_fixture.h"
#include "weir/nn/sequential.h"

namespace weir::nn {
namespace {

constexpr float kStep = 5e-4F;  // small, for few kinks within; rounding adds 2e-4

// The slopes of the loss to either side of one weight, the smaller first. They differ by curvature
// and, where a kink of ReLU or max-pooling lies within the step, by that; the slope in the middle
// lies between.
std::pair<double, double> Slopes(NetFixture& net, float& weight) {
  const double loss = net.Loss();
  const float middle = weight;
  weight = middle + kStep;
  const double above = (net.Loss() - loss) / kStep;
  weight = middle - kStep;
  const double below = (loss - net.Loss()) / kStep;
  weight = middle;
  return std::minmax({above, below});
}

void ExpectGradientsMatch(const Sequential& description, int classes, std::int64_t features) {
  ASSERT_TRUE(description.status().ok()) << description.status();
  NetFixture net(description, 6, classes, features);
  EXPECT_NEAR(net.TrainStep(), net.Loss(), 1e-6);
  int checked = 0;
  int smooth = 0;
  for (std::size_t t = 0; t < net.weights.size(); ++t) {
    for (std::size_t i = 0; i < net.weights[t].size(); i += 1 + net.weights[t].size() / 150) {
      const auto [low, high] = Slopes(net, net.weights[t][i]);
      const double tolerance = 4e-4 + 0.005 * std::abs(high + low) / 2;
      const double gradient = net.gradients[t][i];
      EXPECT_GE(gradient, low - tolerance) << net.tensors[t].name << " element " << i;
      EXPECT_LE(gradient, high + tolerance) << net.tensors[t].name << " element " << i;
      ++checked;
      if (high - low < 4 * tolerance) ++smooth;
    }
  }
  EXPECT_GE(smooth * 10, checked * 9) << "too many kinks to tell";
}

TEST(Gradient, Dense) {
  Sequential net({7});
  net.Add(Dense{.units = 5});
  ExpectGradientsMatch(net, 5, 7);
}

TEST(Gradient, DenseAfterDenseWithRelu) {
  Sequential net({7});
  net.Add(Dense{.units = 9, .activation = Activation::kRelu}).Add(Dense{.units = 4});
  ExpectGradientsMatch(net, 4, 7);
}

TEST(Gradient, ReluLayers) {
  Sequential net({7});
  net.Add(ReLU{}).Add(Dense{.units = 9}).Add(ReLU{}).Add(ReLU{}).Add(Dense{.units = 4});
  ExpectGradientsMatch(net, 4, 7);
}

TEST(Gradient, FlattenFirst) {
  Sequential net({3, 4, 2});
  net.Add(Flatten{}).Add(Flatten{}).Add(Dense{.units = 4});
  ExpectGradientsMatch(net, 4, 24);
}

TEST(Gradient, Conv) {
  for (const std::int64_t channels : {1, 3}) {
    Sequential net({5, 6, channels});
    net.Add(Conv2D{.filters = 4, .kernel = {2, 3}}).Add(Flatten{});
    ExpectGradientsMatch(net, 4 * 4 * 4, 30 * channels);
  }
}

TEST(Gradient, ConvSameStrided) {
  Sequential net({6, 5, 2});
  net.Add(Conv2D{.filters = 16, .kernel = 3, .stride = 2, .padding = Padding::kSame});
  net.Add(Flatten{});
  ExpectGradientsMatch(net, 3 * 3 * 16, 60);
}

TEST(Gradient, ConvAfterConvWithRelu) {
  Sequential net({6, 6, 1});
  net.Add(Conv2D{.filters = 10, .kernel = 3, .activation = Activation::kRelu});
  net.Add(Conv2D{.filters = 3, .kernel = 2}).Add(Flatten{});
  ExpectGradientsMatch(net, 27, 36);
}

TEST(Gradient, MaxPool) {
  for (const Padding padding : {Padding::kValid, Padding::kSame}) {
    Sequential net({7, 7, 1});
    net.Add(Conv2D{.filters = 3, .kernel = 3});
    net.Add(MaxPool2D{.pool = {2, 3}, .stride = {2, 1}, .padding = padding});
    net.Add(MaxPool2D{.pool = {1, 2}}).Add(Flatten{});
    ASSERT_TRUE(net.status().ok());
    ExpectGradientsMatch(net, static_cast<int>(net.output_shape()[0]), 49);
  }
}

TEST(Gradient, OneChannelAndOnePixel) {
  Sequential net({6, 6, 2});
  net.Add(Conv2D{.filters = 1, .kernel = 3, .activation = Activation::kRelu});
  net.Add(Conv2D{.filters = 5, .kernel = 4}).Add(Flatten{}).Add(Dense{.units = 3});
  ExpectGradientsMatch(net, 3, 72);
}

TEST(Gradient, WholeNet) {
  Sequential net({12, 12, 1});
  net.Add(Conv2D{.filters = 8, .kernel = 3, .activation = Activation::kRelu});
  net.Add(MaxPool2D{.pool = 2});
  net.Add(Conv2D{.filters = 6, .kernel = 2}).Add(ReLU{}).Add(MaxPool2D{.pool = 2});
  net.Add(Flatten{}).Add(Dense{.units = 8, .activation = Activation::kRelu});
  net.Add(Dense{.units = 5});
  ExpectGradientsMatch(net, 5, 144);
}

}  // namespace
}  // namespace weir::nn
