#include "common/model/layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "common/model/initializer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

std::vector<TensorSpec> TutorialTensors() {
  return {{"conv2d/kernel", DType::kFloat32, {3, 3, 1, 32}, Initializer::kGlorotUniform},
          {"conv2d/bias", DType::kFloat32, {32}},
          {"dense/kernel", DType::kFloat32, {5408, 64}, Initializer::kGlorotUniform},
          {"dense/bias", DType::kFloat32, {64}},
          {"dense_1/kernel", DType::kFloat32, {64, 10}, Initializer::kGlorotUniform},
          {"dense_1/bias", DType::kFloat32, {10}}};
}

TEST(LayoutTest, EveryElementIsInExactlyOneBlockOfOneShard) {
  for (int shards : {1, 2, 3, 7, 64}) {
    const auto layout = Layout::Create(TutorialTensors(), shards);
    ASSERT_TRUE(layout.ok()) << layout.status();
    EXPECT_EQ(layout->elements(), 347146);
    std::map<std::size_t, std::int64_t> next;
    std::size_t owned = 0;
    for (const Block& block : layout->blocks()) {
      EXPECT_EQ(block.offset, next[block.tensor]);
      EXPECT_GT(block.elements, 0);
      EXPECT_LE(block.bytes(), kMaxBlockBytes);
      next[block.tensor] += block.elements;
    }
    for (std::size_t t = 0; t < layout->tensors().size(); ++t) {
      EXPECT_EQ(next[t], layout->tensors()[t].elements());
    }
    for (int s = 0; s < shards; ++s) {
      const auto blocks = layout->blocks_of(ShardIndex(static_cast<std::uint16_t>(s)));
      EXPECT_TRUE(std::ranges::is_sorted(blocks));
      for (BlockId id : blocks) EXPECT_EQ(layout->block(id).shard.value(), s);
      owned += blocks.size();
    }
    EXPECT_EQ(owned, layout->blocks().size());
  }
}

TEST(LayoutTest, ShardsDifferByAtMostOneBlock) {
  const auto layout = Layout::Create(TutorialTensors(), 2);
  ASSERT_TRUE(layout.ok());
  EXPECT_LE(std::abs(layout->bytes_of(ShardIndex(0)) - layout->bytes_of(ShardIndex(1))),
            kMaxBlockBytes);
}

TEST(LayoutTest, MoreShardsThanBlocksLeavesSomeEmpty) {
  const auto layout = Layout::Create({{"w", DType::kFloat32, {3}}}, 4);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->blocks_of(ShardIndex(0)).size(), 1U);
  EXPECT_TRUE(layout->blocks_of(ShardIndex(3)).empty());
}

TEST(LayoutTest, ThreadsShareWhatTheirPsWouldHaveAlone) {
  std::vector<TensorSpec> tensors = TutorialTensors();
  tensors.push_back({"large", DType::kFloat32, {10 * kMaxBlockElements + 7}});
  const auto alone = Layout::Create(tensors, 2);
  const auto threaded = Layout::Create(tensors, 2, 3);
  ASSERT_TRUE(threaded.ok()) << threaded.status();
  EXPECT_EQ(threaded->shards(), 6);
  EXPECT_EQ(threaded->fingerprint(), alone->fingerprint());
  std::int64_t bytes[2] = {};
  for (const Block& block : threaded->blocks()) {
    EXPECT_EQ(threaded->server_of(block.shard), alone->block(block.id).shard.value());
    EXPECT_EQ(
        threaded->shard_of(threaded->server_of(block.shard), threaded->thread_of(block.shard)),
        block.shard);
    bytes[threaded->server_of(block.shard)] += block.bytes();
  }
  for (int ps = 0; ps < 2; ++ps) {
    for (int t = 0; t < 3; ++t) {
      EXPECT_NEAR(threaded->bytes_of(threaded->shard_of(ps, t)), bytes[ps] / 3, kMaxBlockBytes);
    }
  }
}

TEST(LayoutTest, ScalarsAndEmptyTensorsAreLegal) {
  const auto layout =
      Layout::Create({{"scalar", DType::kFloat32, {}}, {"none", DType::kFloat32, {0, 5}}}, 1);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->blocks().size(), 1U);
  EXPECT_EQ(layout->elements(), 1);
}

TEST(LayoutTest, FingerprintFollowsNamesShapesAndShards) {
  const auto a = Layout::Create(TutorialTensors(), 2);
  const auto same = Layout::Create(TutorialTensors(), 2);
  const auto other_shards = Layout::Create(TutorialTensors(), 3);
  auto renamed_tensors = TutorialTensors();
  renamed_tensors[1].name = "conv2d/b";
  const auto renamed = Layout::Create(renamed_tensors, 2);
  EXPECT_EQ(a->fingerprint(), same->fingerprint());
  EXPECT_NE(a->fingerprint(), other_shards->fingerprint());
  EXPECT_NE(a->fingerprint(), renamed->fingerprint());
}

TEST(LayoutTest, RefusesBadTensorsByName) {
  const auto refused = [](std::vector<TensorSpec> tensors) {
    return std::string(Layout::Create(std::move(tensors), 1).status().message());
  };
  EXPECT_THAT(refused({{"w", DType::kFloat32, {1}}, {"w", DType::kFloat32, {2}}}),
              HasSubstr("'w'"));
  EXPECT_THAT(refused({{"", DType::kFloat32, {1}}}), HasSubstr("empty name"));
  EXPECT_THAT(refused({{"caf\xe9\n", DType::kFloat32, {1}}}),
              HasSubstr("'caf\\xe9\\n': its name is not UTF-8"));
  EXPECT_THAT(refused({{"a@1", DType::kFloat32, {1}}}), HasSubstr("'@'"));
  EXPECT_THAT(refused({{"n", DType::kFloat32, {2, -1}}}), HasSubstr("-1"));
  EXPECT_THAT(refused({{"big", DType::kFloat32, {std::int64_t{1} << 40, std::int64_t{1} << 40}}}),
              HasSubstr("overflows"));
  EXPECT_FALSE(Layout::Create(TutorialTensors(), 0).ok());
  EXPECT_FALSE(Layout::Create(TutorialTensors(), 300, 300).ok());
}

TEST(InitializerTest, AnyCutGivesTheSameValues) {
  const TensorSpec spec{"dense/kernel", DType::kFloat32, {300, 20}, Initializer::kGlorotUniform};
  std::vector<float> whole(6000);
  InitializeTensor(spec, 7, 0, whole);
  std::vector<float> part(100);
  InitializeTensor(spec, 7, 1234, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 1234));
  const float limit = std::sqrt(6.0F / 320.0F);
  EXPECT_LE(*std::ranges::max_element(whole), limit);
  EXPECT_GT(*std::ranges::max_element(whole), 0.99F * limit);
  EXPECT_LT(*std::ranges::min_element(whole), -0.99F * limit);
  std::vector<float> other(6000);
  InitializeTensor(spec, 8, 0, other);
  EXPECT_NE(whole, other);
}

}  // namespace
}  // namespace weir
