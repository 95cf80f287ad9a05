// What the reading of batches allocates, in every thread.
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/thread_allocations.h"
#include "tests/unit/data/batches.h"
#include "weir/dataset.h"

namespace weir {
namespace {

long Allocations() {
  const testing::AllocationCounts counts = testing::AllocationsByThread();
  return std::accumulate(counts.begin(), counts.end(), 0L);
}

Dataset Pipeline() {
  return Numbers(1000)
      .Map([](std::span<float> features, std::int32_t&) {
        for (float& value : features) value /= 255;
      })
      .Filter([](std::span<const float>, std::int32_t label) { return label % 7 != 0; })
      .Shard(2, 1)
      .Shuffle(300, 1)
      .Repeat()
      .Batch(64);
}

// Several passes through the data, past the first batch.
long AllocationsOnceWarm(const Dataset& dataset) {
  const auto iterator = dataset.CreateIterator();
  EXPECT_TRUE(iterator.ok());
  EXPECT_TRUE((*iterator)->Next().ok());
  const long before = Allocations();
  for (int i = 0; i < 100; ++i) {
    const auto batch = (*iterator)->Next();
    if (!batch.ok() || !batch->has_value()) return -1;
  }
  return Allocations() - before;
}

TEST(DatasetAllocationTest, TheCounterCounts) {
  const long before = Allocations();
  std::vector<int> values(100);
  EXPECT_GT(Allocations(), before);
}

TEST(DatasetAllocationTest, NoneOnceWarm) { EXPECT_EQ(AllocationsOnceWarm(Pipeline()), 0); }

TEST(DatasetAllocationTest, NoneOnceWarmWithThePrefetchThread) {
  EXPECT_EQ(AllocationsOnceWarm(Pipeline().Prefetch(3)), 0);
}

}  // namespace
}  // namespace weir
