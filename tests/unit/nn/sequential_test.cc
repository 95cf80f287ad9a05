#include "weir/nn/sequential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weir::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Sequential TutorialNet() {
  Sequential net({28, 28, 1});
  net.Add(Conv2D{.filters = 32, .kernel = 3, .activation = Activation::kRelu});
  net.Add(MaxPool2D{.pool = 2});
  net.Add(Flatten{});
  net.Add(Dense{.units = 64, .activation = Activation::kRelu});
  net.Add(Dense{.units = 10});
  return net;
}

std::string Message(const Sequential& net) { return std::string(net.status().message()); }

TEST(Sequential, TutorialNetHasKerasTensors) {
  const Sequential net = TutorialNet();
  ASSERT_TRUE(net.status().ok()) << net.status();
  std::vector<std::string> names;
  std::int64_t parameters = 0;
  for (const TensorSpec& tensor : net.tensors()) {
    names.push_back(tensor.name);
    parameters += tensor.elements();
    EXPECT_EQ(tensor.initializer,
              tensor.name.ends_with("/kernel") ? Initializer::kGlorotUniform : Initializer::kZeros);
  }
  EXPECT_THAT(names, ElementsAre("conv2d/kernel", "conv2d/bias", "dense/kernel", "dense/bias",
                                 "dense_1/kernel", "dense_1/bias"));
  EXPECT_THAT(net.tensors()[0].shape, ElementsAre(3, 3, 1, 32));
  EXPECT_THAT(net.tensors()[1].shape, ElementsAre(32));
  EXPECT_THAT(net.tensors()[2].shape, ElementsAre(5408, 64));
  EXPECT_EQ(parameters, 347146);
  EXPECT_THAT(net.output_shape(), ElementsAre(10));
}

TEST(Sequential, ShapesFollowPaddingAndStride) {
  Sequential net({7, 10, 3});
  net.Add(Conv2D{.filters = 4, .kernel = {3, 2}, .stride = 2, .padding = Padding::kSame});
  EXPECT_THAT(net.output_shape(), ElementsAre(4, 5, 4));
  net.Add(Conv2D{.filters = 6, .kernel = {2, 3}, .stride = {1, 2}});
  EXPECT_THAT(net.output_shape(), ElementsAre(3, 2, 6));
  net.Add(MaxPool2D{.pool = 2, .padding = Padding::kSame});
  EXPECT_THAT(net.output_shape(), ElementsAre(2, 1, 6));
  net.Add(MaxPool2D{.pool = {2, 1}, .stride = 1});
  EXPECT_THAT(net.output_shape(), ElementsAre(1, 1, 6));
  EXPECT_THAT(net.tensors()[2].name, "conv2d_1/kernel");
  EXPECT_THAT(net.tensors()[2].shape, ElementsAre(2, 3, 4, 6));
}

TEST(Sequential, ErrorsNameTheLayer) {
  Sequential dense({28, 28, 1});
  dense.Add(Dense{.units = 10});
  EXPECT_THAT(Message(dense), HasSubstr("layer 'dense': needs a flat input, but gets [28, 28, 1]"));
  EXPECT_EQ(dense.Compile(4).status(), dense.status());

  Sequential window({4, 4, 1});
  window.Add(Conv2D{.filters = 2, .kernel = 3}).Add(Conv2D{.filters = 2, .kernel = 3});
  EXPECT_THAT(Message(window), HasSubstr("layer 'conv2d_1': a window of height 3"));
  EXPECT_EQ(window.tensors().size(), 2U);

  Sequential flat({16});
  flat.Add(MaxPool2D{});
  EXPECT_THAT(Message(flat), HasSubstr("layer 'max_pooling2d'"));

  Sequential filters({4, 4, 1});
  filters.Add(Conv2D{.name = "first"});
  EXPECT_THAT(Message(filters), HasSubstr("layer 'first': filters must be at least 1"));

  Sequential stride({4, 4, 1});
  stride.Add(Conv2D{.filters = 1, .kernel = 3, .stride = 0});
  EXPECT_THAT(Message(stride), HasSubstr("at least 1"));

  Sequential twice({4});
  twice.Add(Dense{.units = 2, .name = "a"}).Add(Dense{.units = 2, .name = "a"});
  EXPECT_THAT(Message(twice), HasSubstr("two layers are named 'a'"));

  Sequential huge({65536});
  huge.Add(Dense{.units = 65536});
  EXPECT_THAT(Message(huge), HasSubstr("layer 'dense': a tensor of shape [65536, 65536]"));

  EXPECT_THAT(Message(Sequential({28, 28})), HasSubstr("[28, 28]"));
  EXPECT_THAT(Message(Sequential({0})), HasSubstr("at least 1"));
  EXPECT_FALSE(Sequential({std::int64_t{1} << 40, std::int64_t{1} << 40, 1}).status().ok());
}

TEST(Sequential, IsAValue) {
  const Sequential net = TutorialNet();
  Sequential copy = net;
  copy.Add(Dense{.units = 3});
  EXPECT_EQ(copy.output_shape(), std::vector<std::int64_t>{3});
  EXPECT_EQ(net.output_shape(), std::vector<std::int64_t>{10});
  const Sequential moved = std::move(copy);
  EXPECT_EQ(moved.tensors().size(), net.tensors().size() + 2);
  copy = net;
  EXPECT_EQ(copy.tensors().size(), net.tensors().size());
}

TEST(Sequential, CompileWantsLayersClassesAndABatch) {
  EXPECT_EQ(Sequential({4}).Compile(1).status().code(), absl::StatusCode::kInvalidArgument);
  Sequential image({4, 4, 1});
  image.Add(MaxPool2D{});
  EXPECT_THAT(std::string(image.Compile(1).status().message()), HasSubstr("max_pooling2d"));
  EXPECT_EQ(TutorialNet().Compile(0).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::nn
