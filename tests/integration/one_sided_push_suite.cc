// Pushes whose gradients the shards read from the memory of their workers, from afar.
#include <algorithm>
#include <memory>
#include <vector>

#include "common/model/protocol.h"
#include "gmock/gmock.h"
#include "tests/integration/one_sided_suite.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

constexpr WorkerIndex kPusher(0);
constexpr WorkerIndex kOther(1);

class PushPlane : public DataPlane {
 public:
  PushPlane()
      : DataPlane(
            *Layout::Create(
                {Tensor("big", {OneSidedTest::GetParam().elements}), Tensor("small", {100})}, 2),
            {.fabric = OneSidedTest::GetParam().fabric, .learning_rate = 1.0F}) {
    Join(kPusher), Join(kOther);
  }
};

void Fill(ParameterBuffer& buffer, float value) {
  for (std::size_t t = 0; t < buffer.tensors(); ++t) std::ranges::fill(buffer.tensor(t), value);
}

void ExpectAll(const Layout& layout, const ParameterBuffer& weights, float value) {
  for (const Block& block : layout.blocks()) {
    EXPECT_EQ(std::ranges::count(weights.block(block), value), block.elements)
        << "of block " << block.id.value() << ", which begins with " << weights.block(block)[0];
  }
}

// The buffer is written anew for each push, as soon as the one before was acknowledged.
TEST_P(OneSidedTest, GradientsAreReadFromTheMemoryOfTheirWorkerButForSmallOnes) {
  PushPlane plane;
  Within(absl::Seconds(120), [&] {
    const auto client = plane.Connect(kPusher);
    auto weights = client->AllocateParameters();
    auto gradients = client->AllocateParameters();
    float sum = 0;
    std::uint64_t pushes = 0;
    const auto push = [&] {
      const float each = static_cast<float>(++pushes % 7) - 3;
      sum -= each;
      Fill(*gradients, each);
      return client->Push(*gradients, Step(pushes));
    };
    // By message until the shards have opened it.
    const std::size_t large = plane.layout().blocks().size() - 1;
    while (client->one_sided_pushes() < 5 * large) ASSERT_EQ(push(), absl::OkStatus());
    const std::uint64_t before = client->one_sided_pushes();
    for (int i = 0; i < 50; ++i) ASSERT_EQ(push(), absl::OkStatus());
    EXPECT_EQ(client->one_sided_pushes() - before, 50 * large);
    EXPECT_EQ(client->mapped_pushes(), 0U);
    ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
    ExpectAll(plane.layout(), *weights, sum);
    EXPECT_THAT(client->paths()[0].second, HasSubstr("rdma (messages over "));
  });
}

// More buffers than a ps keeps open, and some that are gone as soon as they were pushed.
TEST_P(OneSidedTest, BuffersComeAndGo) {
  PushPlane plane;
  Within(absl::Seconds(120), [&] {
    const auto client = plane.Connect(kPusher);
    auto weights = client->AllocateParameters();
    std::vector<ParameterBuffer> buffers;
    float sum = 0;
    for (int i = 0; i < 6; ++i) {
      buffers.push_back(*client->AllocateParameters());
      Fill(buffers.back(), -static_cast<float>(1 + i));
    }
    for (int i = 0; i < 18; ++i) {
      for (int again = 0; again < 2; ++again) {
        ASSERT_EQ(client->Push(buffers[i % 6], Step(1)), absl::OkStatus());
        sum += static_cast<float>(1 + i % 6);
      }
      const auto zeros = client->AllocateParameters();
      ASSERT_EQ(client->Push(*zeros, Step(1)), absl::OkStatus());
    }
    while (client->one_sided_pushes() == 0) {
      ASSERT_EQ(client->Push(buffers[0], Step(1)), absl::OkStatus());
      sum += 1;
    }
    ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
    ExpectAll(plane.layout(), *weights, sum);
  });
}

// One more than a ps keeps open: each buffer is pushed again right after the one that takes its
// place there was announced.
TEST_P(OneSidedTest, ABufferIsPushedAgainWhileAnotherTakesItsPlace) {
  PushPlane plane;
  Within(absl::Seconds(120), [&] {
    const auto client = plane.Connect(kPusher);
    auto weights = client->AllocateParameters();
    constexpr int kBuffers = static_cast<int>(kBuffersKeptMapped) + 1;
    std::vector<ParameterBuffer> buffers;
    for (int i = 0; i < kBuffers; ++i) {
      buffers.push_back(*client->AllocateParameters());
      Fill(buffers.back(), -1.0F);
    }
    int pushes = 0;
    for (int i = 0; i < 20 * kBuffers; ++i, ++pushes) {
      ASSERT_EQ(client->Push(buffers[i % kBuffers], Step(1)), absl::OkStatus()) << "push " << i;
    }
    const std::uint64_t before = client->one_sided_pushes();
    for (; client->one_sided_pushes() == before; ++pushes) {
      ASSERT_EQ(client->Push(buffers[0], Step(1)), absl::OkStatus());
    }
    ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
    ExpectAll(plane.layout(), *weights, static_cast<float>(pushes));
  });
}

// The worker has given the push up, and its memory away; the shard has not. Read it cannot any
// more, or it can and has it whole.
TEST_P(OneSidedTest, APushThatFailedIsAppliedWholeOrNotAtAll) {
  PushPlane plane;
  DataClientOptions options = plane.OptionsOf(kPusher);
  options.request_deadline = absl::Milliseconds(500);
  Within(absl::Seconds(120), [&] {
    auto client = *plane.TryConnect(options, plane.connector());
    auto gradients = std::make_unique<ParameterBuffer>(*client->AllocateParameters());
    while (client->one_sided_pushes() == 0) {
      ASSERT_EQ(client->Push(*gradients, Step(1)), absl::OkStatus());
    }
    Fill(*gradients, -1.0F);
    plane.Freeze(0);
    const std::uint64_t before = client->one_sided_pushes();
    const absl::Status status = client->Push(*gradients, Step(2));
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("push at ps 0"));
    EXPECT_GT(client->one_sided_pushes(), before);
    gradients.reset();
    client.reset();
    plane.Thaw();
  });
  Within(absl::Seconds(60), [&] {
    const auto other = plane.Connect(kOther);
    auto weights = other->AllocateParameters();
    ASSERT_EQ(other->Push(*weights, Step(1)), absl::OkStatus());
    ASSERT_EQ(other->Pull(*weights), absl::OkStatus());
    for (const Block& block : plane.layout().blocks()) {
      const std::span<const float> values = weights->block(block);
      EXPECT_THAT(values[0], ::testing::AnyOf(0.0F, 1.0F));
      EXPECT_EQ(std::ranges::count(values, values[0]), block.elements);
    }
  });
}

}  // namespace
}  // namespace weir::testing
