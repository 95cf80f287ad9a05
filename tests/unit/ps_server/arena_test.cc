// What readers of a shard's memory see while its BlockStore works in it.
#include <algorithm>
#include <atomic>
#include <thread>

#include "common/arena/arena_reader.h"
#include "common/base/racy_copy.h"
#include "gtest/gtest.h"
#include "ps_server/logic/block_store.h"
#include "tests/unit/ps_server/shard_fixture.h"

namespace weir::ps {
namespace {

constexpr ShardIndex kArenaShard{0};
constexpr Incarnation kOwner{77};
constexpr BlockId kWritten{0};

class ArenaTest : public ::testing::Test {
 protected:
  explicit ArenaTest(std::int64_t elements = 1000)
      : layout_(MakeLayout({elements, 5}, 1)),
        memory_(BlockStore::BytesNeeded(layout_, kArenaShard, 1)),
        store_(layout_, kArenaShard, 1, memory_.bytes()) {
    store_.Identify(kOwner);
    for (BlockId id : layout_.blocks_of(kArenaShard)) {
      std::ranges::fill(store_.InitialValues(id), 0.0F);
    }
  }

  arena::Reader reader() { return *arena::Reader::Create(memory_.bytes(), 2, kOwner); }
  // What an update begun with `update` writes: its version, everywhere.
  void Write(const BlockStore::Update& update) {
    RacyWrite(update.to, [&](std::span<float> to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = update.from[i] + 1;
    });
  }
  void Increment(BlockId block) {
    const auto update = store_.BeginUpdate(block);
    ASSERT_TRUE(update.has_value());
    Write(*update);
    store_.CommitUpdate(block);
  }

  const Layout layout_;
  AlignedMemory memory_;
  BlockStore store_;
};

TEST_F(ArenaTest, IsThatOfOneIncarnationAndLayout) {
  const auto code = [&](MutableByteSpan memory, std::size_t blocks, Incarnation incarnation) {
    return arena::Reader::Create(memory, blocks, incarnation).status().code();
  };
  EXPECT_EQ(code(memory_.bytes(), 2, kOwner), absl::StatusCode::kOk);
  EXPECT_EQ(code(memory_.bytes(), 2, Incarnation(78)), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(memory_.bytes(), 3, kOwner), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(memory_.bytes().first(100), 2, kOwner), absl::StatusCode::kFailedPrecondition);
  memory_.bytes()[0] ^= std::byte{1};
  EXPECT_EQ(code(memory_.bytes(), 2, kOwner), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ArenaTest, GivesEachBlocksVersionAndTheView) {
  Increment(kWritten);
  Increment(kWritten);
  store_.PublishView(ViewNumber(9));
  std::vector<float> values(1000);
  EXPECT_EQ(reader().Read(0, values), Version(2));
  EXPECT_EQ(std::ranges::count(values, 2.0F), 1000);
  std::vector<float> other(5, 1.0F);
  EXPECT_EQ(reader().Read(1, other), Version(0));
  EXPECT_EQ(std::ranges::count(other, 0.0F), 5);
  EXPECT_EQ(reader().view(), ViewNumber(9));
  EXPECT_EQ(store_.bytes_read(), 4020U);
}

TEST_F(ArenaTest, DeclinesABlockThatIsUpdatedInPlaceAndServesOneThatIsUpdatedElsewhere) {
  std::vector<float> values(1000);
  auto update = store_.BeginUpdate(kWritten);
  EXPECT_EQ(reader().Read(0, values), std::nullopt);
  Write(*update);
  EXPECT_EQ(reader().Read(0, values), std::nullopt);
  store_.CommitUpdate(kWritten);
  EXPECT_EQ(reader().Read(0, values), Version(1));
  // Pinned: the next update goes elsewhere, and the old values stay what they are until it is done.
  const BlockPin pin = store_.Pin(kWritten);
  update = store_.BeginUpdate(kWritten);
  Write(*update);
  EXPECT_EQ(reader().Read(0, values), Version(1));
  EXPECT_EQ(std::ranges::count(values, 1.0F), 1000);
  store_.CommitUpdate(kWritten);
  EXPECT_EQ(reader().Read(0, values), Version(2));
  EXPECT_EQ(std::ranges::count(values, 2.0F), 1000);
  store_.Unpin(pin);
  EXPECT_EQ(store_.bytes_read(), 3U * 4000U);
}

TEST_F(ArenaTest, DeclinesAPlaceThatIsNotInIt) {
  std::vector<float> values(1000);
  auto* word = reinterpret_cast<arena::BlockWord*>(memory_.bytes().data() + sizeof(arena::Header));
  for (const std::uint64_t offset : {memory_.bytes().size() - 3999, ~std::uint64_t{0}}) {
    word->offset.store(offset);
    EXPECT_EQ(reader().Read(0, values), std::nullopt);
  }
}

// A writer that never rests, in place and elsewhere in turn; the spare serves both blocks.
TEST_F(ArenaTest, NoReadOfARacingWriterIsTorn) {
  constexpr int kReads = 10'000;
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !done.load(std::memory_order_relaxed); ++i) {
      const BlockId block(static_cast<std::uint32_t>(i / 8 % 2));
      if (i % 4 != 0) {
        Increment(block);
        continue;
      }
      const BlockPin pin = store_.Pin(block);
      Increment(block);
      Increment(block);
      store_.Unpin(pin);
    }
  });
  std::vector<float> values(1000);
  int read = 0;
  int torn = 0;
  int backwards = 0;
  int changes = 0;
  Version last;
  while (read < kReads || changes < 1000) {
    const auto version = reader().Read(0, values);
    if (!version.has_value()) continue;
    ++read;
    torn += std::ranges::count(values, static_cast<float>(version->value())) != 1000;
    backwards += *version < last;
    changes += *version != last;
    last = *version;
    if (version->value() > 10'000'000) break;  // as far as floats count by one
  }
  done = true;
  writer.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(backwards, 0);
}

}  // namespace
}  // namespace weir::ps
