// Loss and gradients against PyTorch's: golden/make_golden.py.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "weir/nn/sequential.h"

namespace weir::nn {
namespace {

constexpr int kSteps = 3;
constexpr float kLearningRate = 0.25F;

std::map<std::string, std::vector<float>> ReadGolden() {
  std::map<std::string, std::vector<float>> golden;
  std::ifstream file(WEIR_GOLDEN_FILE);
  std::string name;
  std::size_t count = 0;
  while (file >> name >> count) {
    auto& values = golden[name];
    values.resize(count);
    for (float& value : values) file >> value;
  }
  return golden;
}

Sequential GoldenNet() {
  Sequential net({8, 8, 2});
  net.Add(Conv2D{
      .filters = 5, .kernel = 3, .padding = Padding::kSame, .activation = Activation::kRelu});
  net.Add(MaxPool2D{.pool = 2});
  net.Add(Conv2D{.filters = 4, .kernel = 2, .activation = Activation::kRelu});
  net.Add(Flatten{});
  net.Add(Dense{.units = 6, .activation = Activation::kRelu});
  net.Add(Dense{.units = 3});
  return net;
}

void ExpectNear(const std::vector<float>& got, const std::vector<float>& want,
                const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], 2e-6 + 2e-5 * std::abs(want[i])) << what << " element " << i;
  }
}

TEST(Golden, ThreeStepsOfSgdAgreeWithPyTorch) {
  const auto golden = ReadGolden();
  ASSERT_FALSE(golden.empty()) << "cannot read " << WEIR_GOLDEN_FILE;
  const Sequential net = GoldenNet();
  auto model = net.Compile(4);
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<std::vector<float>> weights;
  std::vector<std::vector<float>> gradients;
  for (const TensorSpec& tensor : net.tensors()) {
    ASSERT_TRUE(golden.contains(tensor.name)) << tensor.name;
    weights.push_back(golden.at(tensor.name));
    gradients.emplace_back(weights.back().size());
  }
  const std::vector<std::span<const float>> weight_views(weights.begin(), weights.end());
  const std::vector<std::span<float>> gradient_views(gradients.begin(), gradients.end());
  const auto& labels_as_float = golden.at("labels");
  const std::vector<std::int32_t> labels(labels_as_float.begin(), labels_as_float.end());
  for (int step = 0; step < kSteps; ++step) {
    const auto loss =
        (*model)->TrainStep({4, golden.at("features"), labels}, weight_views, gradient_views);
    ASSERT_TRUE(loss.ok()) << loss.status();
    EXPECT_NEAR(*loss, golden.at(absl::StrCat("loss@", step))[0], 2e-6) << "step " << step;
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const std::string name = absl::StrCat(net.tensors()[t].name, "@", step);
      ExpectNear(gradients[t], golden.at(name), name);
      for (std::size_t i = 0; i < weights[t].size(); ++i) {
        weights[t][i] -= kLearningRate * gradients[t][i];
      }
    }
  }
}

}  // namespace
}  // namespace weir::nn
