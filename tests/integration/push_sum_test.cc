// Every push of every worker is applied exactly once: integers add up without rounding, in any
// order, so that the weights' bits tell.
#include <bit>

#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"

namespace weir::testing {
namespace {

constexpr int kPushers = 2;
constexpr int kPushes = 25;  // of each worker
constexpr float kStepSize = 1.0F / 16;

// SplitMix64's mixing: any (worker, push, tensor, element) has its own number.
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

int GradientAt(int worker, int push, std::size_t tensor, std::size_t element) {
  const std::uint64_t who = Mix(static_cast<std::uint64_t>(worker * 1000 + push));
  return static_cast<int>(Mix(who ^ Mix(tensor * 1'000'000'007 + element)) % 2001) - 1000;
}

int InitialAt(std::size_t tensor, std::size_t element) {
  return static_cast<int>(Mix(tensor * 7'919 + element) % 65) - 32;
}

struct Case {
  Fabric fabric;
  int shards;
  std::vector<std::vector<std::int64_t>> shapes;
};

Layout LayoutOf(const Case& test) {
  std::vector<TensorSpec> tensors;
  for (std::size_t t = 0; t < test.shapes.size(); ++t) {
    tensors.push_back(Tensor("t" + std::to_string(t), test.shapes[t]));
  }
  return *Layout::Create(std::move(tensors), test.shards);
}

absl::Status LoadInitial(const Block& block, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<float>(InitialAt(block.tensor, static_cast<std::size_t>(block.offset) + i));
  }
  return absl::OkStatus();
}

void FillGradients(int worker, int push, ParameterBuffer& gradients) {
  for (std::size_t t = 0; t < gradients.tensors(); ++t) {
    const std::span<float> values = gradients.tensor(t);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(GradientAt(worker, push, t, i));
    }
  }
}

float ExpectedAt(std::size_t tensor, std::size_t element) {
  std::int64_t sum = 0;
  for (int w = 0; w < kPushers; ++w) {
    for (int p = 0; p < kPushes; ++p) sum += GradientAt(w, p, tensor, element);
  }
  return static_cast<float>(InitialAt(tensor, element)) - kStepSize * static_cast<float>(sum);
}

// Elements whose bits differ from the serial sum's.
std::size_t CountWrong(ParameterBuffer& weights) {
  std::size_t wrong = 0;
  for (std::size_t t = 0; t < weights.tensors(); ++t) {
    const std::span<float> values = weights.tensor(t);
    for (std::size_t i = 0; i < values.size(); ++i) {
      wrong +=
          std::bit_cast<std::uint32_t>(values[i]) != std::bit_cast<std::uint32_t>(ExpectedAt(t, i));
    }
  }
  return wrong;
}

class PushSumTest : public ::testing::TestWithParam<Case> {
 protected:
  static void Work(DataPlane& plane, int worker) {
    const auto client = plane.Connect(WorkerIndex(static_cast<std::uint16_t>(worker)));
    auto weights = client->AllocateParameters();
    auto gradients = client->AllocateParameters();
    ASSERT_TRUE(weights.ok() && gradients.ok());
    for (int p = 0; p < kPushes; ++p) {
      FillGradients(worker, p, *gradients);
      ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
      ASSERT_EQ(client->Push(*gradients, Step(1)), absl::OkStatus());
    }
    EXPECT_EQ(client->pushes_acknowledged(), std::uint64_t{kPushes});
  }
};

TEST_P(PushSumTest, WeightsAreBitEqualToTheSerialSum) {
  DataPlane plane(LayoutOf(GetParam()),
                  {.fabric = GetParam().fabric, .learning_rate = kStepSize, .loader = LoadInitial});
  for (std::uint16_t w = 0; w <= kPushers; ++w) plane.Join(WorkerIndex(w));
  std::vector<std::future<void>> workers;
  for (int w = 0; w < kPushers; ++w) {
    workers.push_back(std::async(std::launch::async, [&plane, w] { Work(plane, w); }));
  }
  for (auto& worker : workers) Await(worker, absl::Seconds(60));
  Within(absl::Seconds(30), [&] {
    const auto reader = plane.Connect(WorkerIndex(kPushers));
    auto weights = reader->AllocateParameters();
    ASSERT_TRUE(weights.ok());
    ASSERT_EQ(reader->Pull(*weights), absl::OkStatus());
    EXPECT_EQ(CountWrong(*weights), 0U);
  });
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (Fabric fabric : kFabrics) {
    // A scalar, odd sizes, one of three blocks, one without elements.
    cases.push_back({fabric, 2, {{}, {7, 13}, {131, 1009}, {0, 5}, {257}}});
    cases.push_back({fabric, 5, {{3, 3}, {}, {1023}}});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(On, PushSumTest, ::testing::ValuesIn(Cases()), [](const auto& info) {
  return NameOf(info.param.fabric) + std::to_string(info.param.shards) + "Ps";
});

}  // namespace
}  // namespace weir::testing
