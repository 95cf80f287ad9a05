// Pulls straight from the memory of shards that apply pushes meanwhile.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/data_plane.h"
#include "weir/exit_code.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

constexpr WorkerIndex kReader(0);

Layout TestLayout() {
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
  MappedTest() : plane_(TestLayout(), {.fabric = GetParam(), .learning_rate = 1.0F}) {
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
