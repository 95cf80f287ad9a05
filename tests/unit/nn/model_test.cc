// What Model promises, for the nets of Sequential.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/unit/nn/net_fixture.h"
#include "weir/exit_code.h"
#include "weir/nn/sequential.h"
#include "worker/nn/threads.h"

namespace weir::nn {
namespace {

using testing::HasSubstr;

Sequential SmallNet() {
  Sequential net({10, 10, 1});
  net.Add(Conv2D{.filters = 18, .kernel = 3, .activation = Activation::kRelu});
  net.Add(MaxPool2D{.pool = 2}).Add(Flatten{});
  net.Add(Dense{.units = 12, .activation = Activation::kRelu}).Add(Dense{.units = 4});
  return net;
}

struct SmallFixture : NetFixture {
  SmallFixture() : NetFixture(SmallNet(), 8, 4, 100) {}
};

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(Model, RefusesBadBatches) {
  SmallFixture net;
  const auto train = [&](const Batch& batch) {
    return net.model->TrainStep(batch, net.weight_views, net.gradient_views).status();
  };
  std::vector<float> features(900);
  std::vector<std::int32_t> labels(9);
  const absl::Status large = train({9, features, labels});
  EXPECT_EQ(large.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ExitCodeOf(large), ExitCode::kBadUsage);
  EXPECT_THAT(Message(large), HasSubstr("compiled for 1 to 8"));
  EXPECT_FALSE(train({0, {}, {}}).ok());
  EXPECT_FALSE(train({8, net.features, std::span(net.labels).first(7)}).ok());
  EXPECT_FALSE(train({8, std::span(net.features).first(799), net.labels}).ok());
  for (const std::int32_t label : {-1, 4, std::numeric_limits<std::int32_t>::min()}) {
    net.labels[5] = label;
    const absl::Status status = train(net.batch());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), HasSubstr("example 5"));
    EXPECT_EQ(net.model->Evaluate(net.batch(), net.weight_views).status(), status);
  }
}

TEST(Model, RefusesTensorsThatDoNotFit) {
  SmallFixture net;
  auto short_gradient = net.gradient_views;
  short_gradient[2] = short_gradient[2].first(3);
  const auto status = net.model->TrainStep(net.batch(), net.weight_views, short_gradient).status();
  EXPECT_THAT(Message(status), HasSubstr("gradients of 'dense/kernel' have 3 elements"));
  EXPECT_FALSE(net.model->Evaluate(net.batch(), {}).ok());
}

TEST(Model, PartialBatchesAverageToTheWhole) {
  SmallFixture net;
  const float loss = net.TrainStep();
  const auto whole = net.gradients;
  auto sum = whole;
  for (auto& tensor : sum) std::ranges::fill(tensor, 0.0F);
  double parts_loss = 0;
  int first = 0;
  for (const int size : {1, 3, 4}) {
    const auto part =
        net.model->TrainStep(net.batch(first, size), net.weight_views, net.gradient_views);
    ASSERT_TRUE(part.ok()) << part.status();
    parts_loss += *part * size / 8.0;
    for (std::size_t t = 0; t < sum.size(); ++t) {
      for (std::size_t i = 0; i < sum[t].size(); ++i) {
        sum[t][i] += net.gradients[t][i] * static_cast<float>(size) / 8.0F;
      }
    }
    first += size;
  }
  EXPECT_NEAR(parts_loss, loss, 1e-6);
  for (std::size_t t = 0; t < sum.size(); ++t) {
    for (std::size_t i = 0; i < sum[t].size(); ++i) {
      EXPECT_NEAR(sum[t][i], whole[t][i], 1e-6 + 1e-4 * std::abs(whole[t][i]))
          << net.tensors[t].name << " element " << i;
    }
  }
}

TEST(Model, EverySizeWorksAgainAfterTheOthers) {
  SmallFixture net;
  std::vector<double> losses;
  for (int pass = 0; pass < 2; ++pass) {
    for (int size = 1; size <= 8; ++size) {
      const auto loss =
          net.model->TrainStep(net.batch(0, size), net.weight_views, net.gradient_views);
      ASSERT_TRUE(loss.ok()) << loss.status();
      if (pass == 0) losses.push_back(*loss);
      EXPECT_EQ(*loss, losses[static_cast<std::size_t>(size - 1)]);
    }
  }
}

TEST(Model, UnalignedTensorsGiveTheSameBits) {
  SmallFixture net;
  net.TrainStep();
  const auto want = net.gradients;
  const std::vector<float> kept_features = net.features;
  std::vector<std::vector<float>> shifted_weights;
  std::vector<std::vector<float>> shifted_gradients;
  for (std::size_t t = 0; t < want.size(); ++t) {
    shifted_weights.emplace_back(want[t].size() + 2, 77.0F);
    std::ranges::copy(net.weights[t], shifted_weights[t].begin() + 1);
    shifted_gradients.emplace_back(want[t].size() + 2, 77.0F);
    net.weight_views[t] = std::span(shifted_weights[t]).subspan(1, want[t].size());
    net.gradient_views[t] = std::span(shifted_gradients[t]).subspan(1, want[t].size());
  }
  net.TrainStep();
  for (std::size_t t = 0; t < want.size(); ++t) {
    EXPECT_EQ(shifted_gradients[t].front(), 77.0F) << net.tensors[t].name;
    EXPECT_EQ(shifted_gradients[t].back(), 77.0F) << net.tensors[t].name;
    for (std::size_t i = 0; i < want[t].size(); ++i) {
      EXPECT_EQ(net.gradient_views[t][i], want[t][i]) << net.tensors[t].name << " element " << i;
    }
  }
  EXPECT_EQ(net.features, kept_features);
}

TEST(Model, LeavesFeaturesAlone) {
  Sequential description({6});
  description.Add(Flatten{}).Add(ReLU{}).Add(Dense{.units = 3});
  NetFixture net(description, 4, 3, 6);
  const auto kept = net.features;
  net.TrainStep();
  EXPECT_EQ(net.features, kept);
}

TEST(Model, EvaluatesLossAndAccuracy) {
  Sequential description({3});
  description.Add(Dense{.units = 3});
  NetFixture net(description, 4, 3, 3);
  net.weights[0] = {2, 0, 0, 0, 2, 0, 0, 0, 2};  // [in, units]: logits are twice the features
  net.weights[1] = {0, 0, 0.5F};
  net.features = {1, 0, 0, /**/ 0, 1, 0, /**/ 0, 0, 1, /**/ 0, 0, 0};
  net.labels = {0, 1, 2, 0};
  const auto evaluation = net.model->Evaluate(net.batch(), net.weight_views);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->examples, 4);
  EXPECT_EQ(evaluation->correct, 3);
  const double e2 = std::exp(2.0);
  const double e05 = std::exp(0.5);
  const double want =
      2 * (std::log(e2 + 1 + e05) - 2) + std::log(2 + std::exp(2.5)) - 2.5 + std::log(2 + e05);
  EXPECT_NEAR(evaluation->loss_sum, want, 1e-6);
}

TEST(Model, LargeLogitsStayFinite) {
  Sequential description({2});
  description.Add(Dense{.units = 2});
  NetFixture net(description, 1, 2, 2);
  net.weights[0] = {1e4F, -1e4F, 0, 0};
  net.weights[1] = {0, 0};
  net.features = {1, 0};
  net.labels = {1};
  EXPECT_NEAR(net.TrainStep(), 2e4, 1);
  EXPECT_EQ(net.gradients[1], (std::vector<float>{1, -1}));
}

TEST(Model, DenseKernelIsInByUnitsAndFlattenIsChannelsLast) {
  Sequential description({1, 2, 1});
  description.Add(Conv2D{.filters = 2, .kernel = 1}).Add(Flatten{}).Add(Dense{.units = 2});
  NetFixture net(description, 1, 2, 2);
  net.weights[0] = {1, 10};  // [1, 1, 1, filters]
  net.weights[1] = {0, 0};
  // Flat: (x0, 10 x0, x1, 10 x1). The third goes to class 1.
  net.weights[2] = {0, 0, 0, 0, 0, 1, 0, 0};
  net.weights[3] = {0, 0};
  net.features = {100, 3};
  net.labels = {0};
  EXPECT_NEAR(net.TrainStep(), std::log1p(std::exp(3.0)), 1e-5);
}

TEST(Model, MoreThreadsGiveNearlyTheSame) {
  SmallFixture one;
  const float loss = one.TrainStep();
  SetThreads(2);
  SmallFixture two;
  SetThreads(1);
  EXPECT_NEAR(two.TrainStep(), loss, 1e-5);
}

}  // namespace
}  // namespace weir::nn
