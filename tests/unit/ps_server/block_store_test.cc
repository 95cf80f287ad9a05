#include "ps_server/logic/block_store.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "tests/unit/ps_server/shard_fixture.h"

namespace weir::ps {
namespace {

constexpr ShardIndex kShard{0};
constexpr BlockId kBlock{0};

class BlockStoreTest : public ::testing::Test {
 protected:
  explicit BlockStoreTest(int spares = 1)
      : layout_(MakeLayout({20, 5}, 1)),
        memory_(BlockStore::BytesNeeded(layout_, kShard, spares)),
        store_(layout_, kShard, spares, memory_.bytes()) {
    std::ranges::fill(store_.InitialValues(kBlock), 0.0F);
  }

  // Adds one to each element; false when the store had no place for it.
  bool Increment(BlockId block) {
    const auto update = store_.BeginUpdate(block);
    if (!update) return false;
    for (std::size_t i = 0; i < update->to.size(); ++i) update->to[i] = update->from[i] + 1;
    store_.CommitUpdate(block);
    return true;
  }

  const Layout layout_;
  AlignedMemory memory_;
  BlockStore store_;
};

TEST_F(BlockStoreTest, HomesAreRoundedToCacheLinesAndSparesAreWhole) {
  const std::size_t homes = arena::SlotsOffset(2) + 128U + 64U;
  EXPECT_EQ(BlockStore::BytesNeeded(layout_, kShard, 0), homes);
  EXPECT_EQ(BlockStore::BytesNeeded(layout_, kShard, 2), homes + 2U * kMaxBlockBytes);
  EXPECT_TRUE(store_.owns(BlockId(1)));
  EXPECT_FALSE(store_.owns(BlockId(2)));
  EXPECT_EQ(store_.position(BlockId(1)), 1U);
  EXPECT_EQ(store_.values(BlockId(1)).size(), 5U);
}

TEST_F(BlockStoreTest, UpdatesInPlaceWhenNobodyReads) {
  const float* home = store_.values(kBlock).data();
  ASSERT_TRUE(Increment(kBlock));
  EXPECT_EQ(store_.values(kBlock).data(), home);
  EXPECT_EQ(store_.values(kBlock)[19], 1.0F);
  EXPECT_EQ(store_.free_spares(), 1);
}

TEST_F(BlockStoreTest, APinKeepsItsVersionAndTheBlockComesHomeAfterIt) {
  const float* home = store_.values(kBlock).data();
  const BlockPin pin = store_.Pin(kBlock);
  ASSERT_TRUE(Increment(kBlock));
  EXPECT_EQ(pin.values[0], 0.0F);
  EXPECT_EQ(store_.values(kBlock)[0], 1.0F);
  EXPECT_EQ(store_.free_spares(), 0);
  // Home is pinned, the spare is not: in place.
  ASSERT_TRUE(Increment(kBlock));
  EXPECT_EQ(pin.values[0], 0.0F);
  store_.Unpin(pin);
  EXPECT_EQ(store_.free_spares(), 0);
  ASSERT_TRUE(Increment(kBlock));
  EXPECT_EQ(store_.values(kBlock).data(), home);
  EXPECT_EQ(store_.values(kBlock)[0], 3.0F);
  EXPECT_EQ(store_.free_spares(), 1);
}

TEST_F(BlockStoreTest, GoesHomeWhileTheSpareIsReadAndFreesItAfterwards) {
  const BlockPin first = store_.Pin(kBlock);
  ASSERT_TRUE(Increment(kBlock));
  const BlockPin second = store_.Pin(kBlock);
  store_.Unpin(first);
  ASSERT_TRUE(Increment(kBlock));
  EXPECT_EQ(second.values[0], 1.0F);
  EXPECT_EQ(store_.values(kBlock)[0], 2.0F);
  EXPECT_EQ(store_.free_spares(), 0);
  store_.Unpin(second);
  EXPECT_EQ(store_.free_spares(), 1);
}

TEST_F(BlockStoreTest, RefusesWithoutAChangeWhenEverySlotIsRead) {
  const BlockPin first = store_.Pin(kBlock);
  const BlockPin again = store_.Pin(kBlock);
  ASSERT_TRUE(Increment(kBlock));
  const BlockPin second = store_.Pin(kBlock);
  EXPECT_FALSE(Increment(kBlock));
  EXPECT_EQ(store_.values(kBlock)[0], 1.0F);
  // The other block is not read: it needs no spare.
  EXPECT_TRUE(Increment(BlockId(1)));
  store_.Unpin(first);
  EXPECT_FALSE(Increment(kBlock));
  store_.Unpin(again);
  EXPECT_TRUE(Increment(kBlock));
  EXPECT_EQ(second.values[0], 1.0F);
  store_.Unpin(second);
  EXPECT_EQ(store_.free_spares(), 1);
}

}  // namespace
}  // namespace weir::ps
