#include "tests/integration/one_sided_suite.h"

#include <algorithm>
#include <atomic>
#include <iostream>

#include "gmock/gmock.h"
#include "weir/exit_code.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

constexpr WorkerIndex kReader(0);

Layout TestLayout() {
  return *Layout::Create(
      {Tensor("big", {OneSidedTest::GetParam().elements}), Tensor("small", {100})}, 2);
}

DataPlaneOptions PlaneOptions() {
  return {.fabric = OneSidedTest::GetParam().fabric, .learning_rate = 1.0F};
}

class Plane : public DataPlane {
 public:
  Plane() : DataPlane(TestLayout(), PlaneOptions()) {
    for (std::uint16_t w = 0; w < 3; ++w) Join(WorkerIndex(w));
  }

  // Pushes gradients of minus one: each update adds one to every element.
  std::future<std::uint64_t> PushUntil(std::uint16_t worker, const std::atomic<bool>& done) {
    return std::async(std::launch::async, [this, worker, &done] {
      const auto client = Connect(WorkerIndex(worker));
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
};

TEST_P(OneSidedTest, EveryBlockIsOfOneVersionAndNoneGoesBack) {
  Plane plane;
  std::atomic<bool> done{false};
  std::future<std::uint64_t> pushes[] = {plane.PushUntil(1, done), plane.PushUntil(2, done)};
  Within(absl::Seconds(240), [&] {
    const auto client = plane.Connect(kReader);
    auto weights = client->AllocateParameters();
    std::vector<float> last(plane.layout().blocks().size());
    int torn = 0;
    int back = 0;
    for (int i = 0; i < GetParam().pulls || last[0] < 100; ++i) {
      ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
      for (const Block& block : plane.layout().blocks()) {
        const std::span<const float> values = weights->block(block);
        torn += std::ranges::count(values, values[0]) != block.elements;
        back += values[0] < last[block.id.value()];
        last[block.id.value()] = values[0];
      }
    }
    EXPECT_EQ(torn, 0);
    EXPECT_EQ(back, 0);
    const DataClient::MappedReads reads = client->one_sided_reads();
    EXPECT_GT(reads.blocks, 0U);
    std::cout << "pulls " << GetParam().pulls << ", torn " << torn << ", blocks read from afar "
              << reads.blocks << ", declined " << reads.declined << ", updates " << last[0] << "\n";
  });
  done = true;
  const float all = static_cast<float>(Await(pushes[0]) + Await(pushes[1]));
  Within(absl::Seconds(30), [&] {
    const auto client = plane.Connect(kReader);
    auto weights = client->AllocateParameters();
    ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
    for (const Block& block : plane.layout().blocks()) {
      EXPECT_EQ(std::ranges::count(weights->block(block), all), block.elements);
    }
  });
}

TEST_P(OneSidedTest, TheShardIsNotAskedAndThePathSaysSo) {
  Plane plane;
  Within(absl::Seconds(30), [&] {
    const auto client = plane.Connect(kReader);
    auto weights = client->AllocateParameters();
    // The first one connects, which takes both sides.
    ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
    // Then also while a shard is busy with something else.
    plane.Freeze(0);
    EXPECT_EQ(client->Pull(*weights), absl::OkStatus());
    plane.Thaw();
    EXPECT_EQ(client->one_sided_reads().blocks, 2 * plane.layout().blocks().size());
    EXPECT_EQ(client->one_sided_reads().declined, 0U);
    std::int64_t bytes = 0;
    for (const Block& block : plane.layout().blocks()) bytes += block.bytes();
    EXPECT_EQ(client->one_sided_reads().bytes, static_cast<std::uint64_t>(2 * bytes));
    for (const auto& [shard, path] : client->paths()) {
      EXPECT_THAT(path, HasSubstr("rdma (messages over "));
    }
  });
}

// As far as it knows: the worker learns of a new view before the shards do.
TEST_P(OneSidedTest, AnOlderViewIsNotRead) {
  Plane plane;
  Within(absl::Seconds(30), [&] {
    const auto client = plane.Connect(kReader);
    auto weights = client->AllocateParameters();
    ASSERT_EQ(client->Pull(*weights), absl::OkStatus());
    const std::uint64_t blocks = client->one_sided_reads().blocks;
    client->OnView(plane.view().next());
    auto pull = std::async(std::launch::async, [&] { return client->Pull(*weights); });
    plane.Join(WorkerIndex(3));  // the shards learn of that view
    EXPECT_EQ(Await(pull), absl::OkStatus());
    EXPECT_GE(client->one_sided_reads().blocks + client->one_sided_reads().declined, blocks);
  });
}

TEST_P(OneSidedTest, WhatCannotBeReadIsAnError) {
  Plane plane;
  for (const char* key : {"", "nonsense"}) {
    const ShardConnector connector = [&](ShardIndex shard, const wire::ConnectRequestT& request) {
      auto reply = plane.Call(shard, request);
      if (reply.ok()) reply->arena_key.assign(key, key + std::char_traits<char>::length(key));
      return reply;
    };
    const absl::Status status = plane.TryConnect(plane.OptionsOf(kReader), connector).status();
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the memory of ps 0 cannot be read from afar"));
  }
}

// Nothing is taken from the memory of another incarnation: its blocks come by message.
TEST_P(OneSidedTest, TheArenaMustBeOfTheIncarnationThatAnswered) {
  Plane plane;
  Within(absl::Seconds(30), [&] {
    const auto client = *plane.TryConnect(
        plane.OptionsOf(kReader), [&](ShardIndex shard, const wire::ConnectRequestT& request) {
          auto reply = plane.Call(shard, request);
          if (reply.ok()) ++reply->incarnation;
          return reply;
        });
    auto weights = client->AllocateParameters();
    EXPECT_EQ(client->Pull(*weights), absl::OkStatus());
    EXPECT_EQ(client->one_sided_reads().blocks, 0U);
    EXPECT_EQ(client->one_sided_reads().declined, plane.layout().blocks().size());
  });
}

// The pull fails, in time, and the buffer is the caller's again.
TEST_P(OneSidedTest, AnAbortedPullEnds) {
  Plane plane;
  Within(absl::Seconds(30), [&] {
    const auto client = plane.Connect(kReader);
    auto weights = std::make_optional(*client->AllocateParameters());
    client->Abort(absl::UnavailableError("the job is over"));
    EXPECT_FALSE(client->Pull(*weights).ok());
    weights.reset();
  });
}

}  // namespace
}  // namespace weir::testing
