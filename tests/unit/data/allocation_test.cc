// A program of its own: it replaces operator new to count what every thread allocates.
#include <atomic>
#include <cstdlib>
#include <new>

#include "gtest/gtest.h"
#include "tests/unit/data/batches.h"
#include "weir/dataset.h"

namespace {

std::atomic<long> allocations = 0;

void* Allocate(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return Allocate(bytes); }
void* operator new[](std::size_t bytes) { return Allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace weir {
namespace {

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
  const long before = allocations;
  for (int i = 0; i < 100; ++i) {
    const auto batch = (*iterator)->Next();
    if (!batch.ok() || !batch->has_value()) return -1;
  }
  return allocations - before;
}

TEST(DatasetAllocationTest, TheCounterCounts) {
  const long before = allocations;
  delete new int(1);  // NOLINT
  std::vector<int> values(100);
  EXPECT_GT(allocations, before);
}

TEST(DatasetAllocationTest, NoneOnceWarm) { EXPECT_EQ(AllocationsOnceWarm(Pipeline()), 0); }

TEST(DatasetAllocationTest, NoneOnceWarmWithThePrefetchThread) {
  EXPECT_EQ(AllocationsOnceWarm(Pipeline().Prefetch(3)), 0);
}

}  // namespace
}  // namespace weir
