// Pulls straight from the memory of shards that apply pushes meanwhile, and pushes that they apply
// straight from the memory of their workers.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "common/model/protocol.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"
#include "weir/exit_code.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr WorkerIndex kReader(0);

Layout MappedLayout() {
  // The first has three blocks, two of them of the largest size.
  return *Layout::Create({Tensor("big", {130'000}), Tensor("small", {100})}, 2);
}

// By memcmp: an element at a time takes minutes in a sanitizer's build.
bool AllAre(std::span<const float> values, float value) {
  return values.empty() ||
         (values[0] == value &&
          std::memcmp(values.data(), values.data() + 1, (values.size() - 1) * sizeof(float)) == 0);
}

class MappedTest : public ::testing::TestWithParam<Fabric> {
 protected:
  MappedTest() : plane_(MappedLayout(), {.fabric = GetParam(), .learning_rate = 1.0F}) {
    for (std::uint16_t w = 0; w < 3; ++w) plane_.Join(WorkerIndex(w));
  }

  // Pushes gradients of minus one: each update adds one to every element.
  std::future<std::uint64_t> PushUntil(std::uint16_t worker, const std::atomic<bool>& done) {
    return std::async(std::launch::async, [this, worker, &done] {
      const auto client = plane_.Connect(WorkerIndex(worker));
      auto gradients = client->AllocateParameters();
      for (std::size_t t = 0; t < gradients->tensors(); ++t) {
        std::ranges::fill(gradients->tensor(t), -1.0F);
      }
      std::uint64_t pushes = 0;
      while (!done) {
        EXPECT_EQ(client->Push(*gradients, Step(1)), absl::OkStatus());
        ++pushes;
      }
      return pushes;
    });
  }

  DataPlane plane_;
};

TEST_P(MappedTest, EveryBlockIsOfOneVersionAndNoneGoesBack) {
  constexpr int kPulls = 2000;
  std::atomic<bool> done{false};
  std::future<std::uint64_t> pushes[] = {PushUntil(1, done), PushUntil(2, done)};
  Within(absl::Seconds(60), [&] {
    const auto client = plane_.Connect(kReader);
    auto weights = client->AllocateParameters();
    std::vector<float> last(plane_.layout().blocks().size());
    int torn = 0;
    int back = 0;
    for (int i = 0; i < kPulls || last[0] < 100; ++i) {
      ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
      for (const Block& block : plane_.layout().blocks()) {
        const std::span<const float> values = weights->block(block);
        torn += !AllAre(values, values[0]);
        back += values[0] < last[block.id.value()];
        last[block.id.value()] = values[0];
      }
    }
    EXPECT_EQ(torn, 0);
    EXPECT_EQ(back, 0);
    const DataClient::MappedReads reads = client->mapped_reads();
    EXPECT_GT(reads.blocks, reads.declined);
    RecordProperty("declined", static_cast<int>(reads.declined));
  });
  done = true;
  const float all = static_cast<float>(Await(pushes[0]) + Await(pushes[1]));
  Within(absl::Seconds(30), [&] {
    const auto client = plane_.Connect(kReader);
    auto weights = client->AllocateParameters();
    ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
    for (const Block& block : plane_.layout().blocks()) {
      EXPECT_TRUE(AllAre(weights->block(block), all)) << block.id.value();
    }
  });
}

// The buffer is written anew for each push, as soon as the one before was acknowledged.
TEST_P(MappedTest, GradientsAreAppliedFromTheMemoryOfTheirWorker) {
  Within(absl::Seconds(60), [&] {
    const auto client = plane_.Connect(kReader);
    auto weights = client->AllocateParameters();
    auto gradients = client->AllocateParameters();
    float sum = 0;
    std::uint64_t pushes = 0;
    const auto push = [&] {
      const float each = static_cast<float>(++pushes % 7) - 3;
      sum -= each;
      for (std::size_t t = 0; t < gradients->tensors(); ++t) {
        std::ranges::fill(gradients->tensor(t), each);
      }
      return client->Push(*gradients, Step(pushes));
    };
    // By message until the shards have mapped it.
    const std::size_t blocks = plane_.layout().blocks().size();
    while (client->mapped_pushes() < 10 * blocks) ASSERT_EQ(push(), absl::OkStatus());
    const std::uint64_t before = client->mapped_pushes();
    for (int i = 0; i < 100; ++i) ASSERT_EQ(push(), absl::OkStatus());
    EXPECT_EQ(client->mapped_pushes() - before, 100 * blocks);
    ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
    for (const Block& block : plane_.layout().blocks()) {
      EXPECT_EQ(std::ranges::count(weights->block(block), sum), block.elements);
    }
  });
}

// More buffers than a ps keeps mapped, and some that are gone as soon as they were pushed.
TEST_P(MappedTest, BuffersComeAndGo) {
  constexpr int kBuffers = 6;
  constexpr int kRounds = 30;
  Within(absl::Seconds(60), [&] {
    const auto client = plane_.Connect(kReader);
    auto weights = client->AllocateParameters();
    std::vector<ParameterBuffer> buffers;
    float sum = 0;
    for (int i = 0; i < kBuffers; ++i) {
      buffers.push_back(*client->AllocateParameters());
      for (std::size_t t = 0; t < buffers[0].tensors(); ++t) {
        std::ranges::fill(buffers.back().tensor(t), -static_cast<float>(1 + i));
      }
    }
    for (int i = 0; i < kRounds; ++i) {
      ASSERT_EQ(client->Push(buffers[i % kBuffers], Step(1)), absl::OkStatus());
      sum += static_cast<float>(1 + i % kBuffers);
      const auto zeros = client->AllocateParameters();
      ASSERT_EQ(client->Push(*zeros, Step(1)), absl::OkStatus());
    }
    const std::uint64_t before = client->mapped_pushes();
    while (client->mapped_pushes() == before) {
      ASSERT_EQ(client->Push(buffers[0], Step(1)), absl::OkStatus());
      sum += 1;
    }
    ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
    for (const Block& block : plane_.layout().blocks()) {
      EXPECT_EQ(std::ranges::count(weights->block(block), sum), block.elements);
    }
  });
}

// One more than a ps keeps mapped: each buffer is pushed again right after the one that takes its
// place there was announced.
TEST_P(MappedTest, ABufferIsPushedAgainWhileAnotherTakesItsPlace) {
  constexpr int kBuffers = static_cast<int>(kBuffersKeptMapped) + 1;
  Within(absl::Seconds(60), [&] {
    const auto client = plane_.Connect(kReader);
    auto weights = client->AllocateParameters();
    std::vector<ParameterBuffer> buffers;
    for (int i = 0; i < kBuffers; ++i) {
      buffers.push_back(*client->AllocateParameters());
      for (std::size_t t = 0; t < buffers[0].tensors(); ++t) {
        std::ranges::fill(buffers.back().tensor(t), -1.0F);
      }
    }
    int pushes = 0;
    for (; pushes < kBuffers - 1; ++pushes) {
      ASSERT_EQ(client->Push(buffers[pushes], Step(1)), absl::OkStatus());
    }
    EXPECT_THAT(client->paths().front().second, Not(HasSubstr("push from at most")));
    for (int i = 0; i < 100 * kBuffers; ++i, ++pushes) {
      ASSERT_EQ(client->Push(buffers[i % kBuffers], Step(1)), absl::OkStatus()) << "push " << i;
    }
    EXPECT_THAT(client->paths().front().second, HasSubstr("push from at most"));
    const std::uint64_t before = client->mapped_pushes();
    for (; client->mapped_pushes() == before; ++pushes) {
      ASSERT_EQ(client->Push(buffers[0], Step(1)), absl::OkStatus());
    }
    ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
    for (const Block& block : plane_.layout().blocks()) {
      EXPECT_EQ(std::ranges::count(weights->block(block), static_cast<float>(pushes)),
                block.elements);
    }
  });
}

// The worker has given the push up, and its memory away; the shard has not.
TEST_P(MappedTest, APushThatFailedIsAppliedWholeOrNotAtAll) {
  DataClientOptions options = plane_.OptionsOf(kReader);
  options.request_deadline = absl::Milliseconds(500);
  Within(absl::Seconds(60), [&] {
    auto client = *plane_.TryConnect(options, plane_.connector());
    auto gradients = std::make_unique<ParameterBuffer>(*client->AllocateParameters());
    while (client->mapped_pushes() == 0) {
      ASSERT_EQ(client->Push(*gradients, Step(1)), absl::OkStatus());
    }
    for (std::size_t t = 0; t < gradients->tensors(); ++t) {
      std::ranges::fill(gradients->tensor(t), -1.0F);
    }
    plane_.Freeze(0);
    const std::uint64_t before = client->mapped_pushes();
    const absl::Status status = client->Push(*gradients, Step(2));
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("push at ps 0"));
    EXPECT_GT(client->mapped_pushes(), before);
    gradients.reset();
    client.reset();
    plane_.Thaw();
  });
  Within(absl::Seconds(30), [&] {
    const auto other = plane_.Connect(WorkerIndex(1));
    auto weights = other->AllocateParameters();
    // Once it has a push of this one's, a shard has done all that was asked before.
    ASSERT_EQ(other->Push(*weights, Step(1)), absl::OkStatus());
    ASSERT_EQ(other->Pull(*weights), absl::OkStatus());
    for (const Block& block : plane_.layout().blocks()) {
      const std::span<const float> values = weights->block(block);
      const bool frozen = block.shard == ShardIndex(0);
      EXPECT_THAT(values[0], ::testing::AnyOf(1.0F, frozen ? 0.0F : 1.0F));
      EXPECT_EQ(std::ranges::count(values, values[0]), block.elements);
    }
  });
}

TEST_P(MappedTest, APsThatCannotMapItsWorkerIsAnErrorOrIsPushedToByMessage) {
  const ShardConnector connector = [&](ShardIndex shard, const wire::ConnectRequestT& asked) {
    wire::ConnectRequestT request = asked;
    request.sample_key = {'n', 'o'};
    return plane_.Call(shard, request);
  };
  DataClientOptions options = plane_.OptionsOf(kReader);
  options.mapping = Mapping::kRequired;
  const absl::Status status = plane_.TryConnect(options, connector).status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the memory of this worker, at ps 0, cannot be mapped"));
  options.mapping = Mapping::kWhereItWorks;
  Within(absl::Seconds(30), [&] {
    const auto client = *plane_.TryConnect(options, connector);
    auto weights = client->AllocateParameters();
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(client->Push(*weights, Step(1)), absl::OkStatus());
      EXPECT_EQ(client->Pull(*weights), absl::OkStatus());
    }
    EXPECT_EQ(client->mapped_pushes(), 0U);
    EXPECT_EQ(client->mapped_reads().blocks, 10 * plane_.layout().blocks().size());
    EXPECT_THAT(client->paths()[0].second, HasSubstr("mapped pull, message push ("));
    EXPECT_THAT(client->paths()[0].second, HasSubstr("not mapped: the memory of this worker"));
  });
}

TEST_P(MappedTest, PullsCountAsPulledAndThePathSaysSo) {
  Within(absl::Seconds(30), [&] {
    const auto client = plane_.Connect(kReader);
    auto weights = client->AllocateParameters();
    ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
    EXPECT_EQ(client->mapped_reads().blocks, plane_.layout().blocks().size());
    EXPECT_EQ(client->mapped_reads().declined, 0U);
    for (const auto& [shard, path] : client->paths()) {
      EXPECT_THAT(path, HasSubstr("mapped (messages over "));
      const auto bytes = static_cast<std::uint64_t>(plane_.layout().bytes_of(shard));
      plane_.server(shard.value()).SendStats();
      EXPECT_TRUE(plane_.WaitForReport([&](const wire::MemberBodyUnion& body) {
        return body.AsStats() != nullptr && body.AsStats()->stats->bytes == bytes &&
               body.AsStats()->stats->bytes_pulled == bytes;
      }));
    }
  });
}

TEST_P(MappedTest, WhatCannotBeMappedIsAnErrorOrIsPulledByMessage) {
  // A ps that gives no key, and one whose key does not fit.
  for (const char* key : {"", "nonsense"}) {
    const ShardConnector connector = [&](ShardIndex shard, const wire::ConnectRequestT& request) {
      auto reply = plane_.Call(shard, request);
      if (reply.ok()) reply->arena_key.assign(key, key + std::char_traits<char>::length(key));
      return reply;
    };
    DataClientOptions options = plane_.OptionsOf(kReader);
    options.mapping = Mapping::kRequired;
    const absl::Status status = plane_.TryConnect(options, connector).status();
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the memory of ps 0 cannot be mapped"));
    options.mapping = Mapping::kWhereItWorks;
    Within(absl::Seconds(30), [&] {
      const auto client = *plane_.TryConnect(options, connector);
      auto weights = client->AllocateParameters();
      EXPECT_EQ(client->Pull(*weights), absl::OkStatus());
      EXPECT_EQ(client->mapped_reads().blocks, 0U);
      EXPECT_THAT(client->paths()[0].second, HasSubstr("not mapped: "));
    });
  }
}

// Nor is the memory of another incarnation taken for this one's.
TEST_P(MappedTest, TheArenaMustBeOfTheIncarnationThatAnswered) {
  DataClientOptions options = plane_.OptionsOf(kReader);
  const absl::Status status =
      plane_
          .TryConnect(options,
                      [&](ShardIndex shard, const wire::ConnectRequestT& request) {
                        auto reply = plane_.Call(shard, request);
                        if (reply.ok()) ++reply->incarnation;
                        return reply;
                      })
          .status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not this ps's arena"));
}

INSTANTIATE_TEST_SUITE_P(On, MappedTest,
                         ::testing::Values(Fabric::kLoopbackMapped, Fabric::kUcxTcpMapped,
                                           Fabric::kUcxShmMapped),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
