// What a step asks and tells on its way (weir::StepHooks), so that traffic can overlap it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/unit/nn/net_fixture.h"
#include "weir/nn/sequential.h"

namespace weir::nn {
namespace {

using testing::ElementsAre;

// Two convolutions, so that one has a gradient by its input.
Sequential Net() {
  Sequential net({10, 10, 1});
  net.Add(Conv2D{.filters = 8, .kernel = 3, .activation = Activation::kRelu});
  net.Add(MaxPool2D{.pool = 2}).Add(Conv2D{.filters = 5, .kernel = 2}).Add(ReLU{});
  net.Add(Flatten{}).Add(Dense{.units = 12, .activation = Activation::kRelu});
  net.Add(Dense{.units = 4});
  return net;
}

struct HookedNet : NetFixture {
  HookedNet() : NetFixture(Net(), 6, 4, 100) {}
};

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// Behaves as the harshest transport: a tensor's weights arrive only when they are awaited and are
// overwritten as soon as its gradient is ready; the gradient is sent (copied) there and then.
class HarshHooks final : public StepHooks {
 public:
  std::string fail_at;
  std::vector<std::string> calls;
  std::vector<std::vector<float>> sent;

  explicit HarshHooks(HookedNet& net)
      : sent(net.weights.size()), net_(net), arriving_(net.weights) {
    for (auto& tensor : net_.weights) Poison(tensor);
  }

  absl::Status AwaitWeights(std::size_t tensor) override {
    calls.push_back(absl::StrCat("await ", net_.tensors[tensor].name));
    if (calls.back() == fail_at) return absl::UnavailableError("lost");
    std::ranges::copy(arriving_[tensor], net_.weights[tensor].begin());
    return absl::OkStatus();
  }

  absl::Status GradientReady(std::size_t tensor) override {
    calls.push_back(absl::StrCat("ready ", net_.tensors[tensor].name));
    if (calls.back() == fail_at) return absl::AbortedError("view changed");
    sent[tensor] = net_.gradients[tensor];
    Poison(net_.weights[tensor]);
    return absl::OkStatus();
  }

 private:
  static void Poison(std::vector<float>& tensor) {
    std::ranges::fill(tensor, std::numeric_limits<float>::quiet_NaN());
  }

  HookedNet& net_;
  std::vector<std::vector<float>> arriving_;
};

TEST(StepHooks, AskLayerByLayerForwardAndTellLayerByLayerBackward) {
  HookedNet net;
  HarshHooks hooks(net);
  ASSERT_TRUE(
      net.model->TrainStepWith(net.batch(), net.weight_views, net.gradient_views, hooks).ok());
  EXPECT_THAT(hooks.calls,
              ElementsAre("await conv2d/kernel", "await conv2d/bias", "await conv2d_1/kernel",
                          "await conv2d_1/bias", "await dense/kernel", "await dense/bias",
                          "await dense_1/kernel", "await dense_1/bias", "ready dense_1/bias",
                          "ready dense_1/kernel", "ready dense/bias", "ready dense/kernel",
                          "ready conv2d_1/bias", "ready conv2d_1/kernel", "ready conv2d/bias",
                          "ready conv2d/kernel"));
}

TEST(StepHooks, LateWeightsAndEarlySendsChangeNothing) {
  HookedNet plain;
  HookedNet hooked;
  for (const int size : {6, 6, 3}) {
    const auto want =
        plain.model->TrainStep(plain.batch(0, size), plain.weight_views, plain.gradient_views);
    hooked.weights = plain.weights;
    hooked.weight_views.assign(hooked.weights.begin(), hooked.weights.end());
    HarshHooks hooks(hooked);
    const auto got = hooked.model->TrainStepWith(hooked.batch(0, size), hooked.weight_views,
                                                 hooked.gradient_views, hooks);
    ASSERT_TRUE(want.ok()) << want.status();
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, *want);
    for (std::size_t t = 0; t < plain.gradients.size(); ++t) {
      EXPECT_TRUE(SameBits(hooks.sent[t], plain.gradients[t]))
          << plain.tensors[t].name << " as sent";
      EXPECT_TRUE(SameBits(hooked.gradients[t], plain.gradients[t])) << plain.tensors[t].name;
    }
  }
}

TEST(StepHooks, AnErrorEndsTheStepAndTheNextOneWorks) {
  for (const char* const fail_at : {"await dense/bias", "ready conv2d_1/kernel"}) {
    HookedNet net;
    const auto weights = net.weights;
    HarshHooks hooks(net);
    hooks.fail_at = fail_at;
    const auto loss =
        net.model->TrainStepWith(net.batch(), net.weight_views, net.gradient_views, hooks);
    EXPECT_EQ(loss.status().code(),
              fail_at[0] == 'a' ? absl::StatusCode::kUnavailable : absl::StatusCode::kAborted);
    EXPECT_EQ(hooks.calls.back(), fail_at);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      std::ranges::copy(weights[t], net.weights[t].begin());
    }
    EXPECT_EQ(net.TrainStep(), HookedNet().TrainStep());
  }
}

}  // namespace
}  // namespace weir::nn
