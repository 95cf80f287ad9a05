#include <atomic>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/data/batches.h"
#include "weir/dataset.h"

namespace weir {
namespace {

using ::testing::ElementsAre;

// How many examples were made, and a wait for that.
class Made {
 public:
  void Add() {
    MutexLock lock(&mutex_);
    ++made_;
    changed_.NotifyAll();
  }
  // False if there are still fewer than `count` after ten seconds.
  bool WaitFor(int count) {
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    MutexLock lock(&mutex_);
    while (made_ < count && absl::Now() < deadline) {
      changed_.WaitFor(&mutex_, absl::Milliseconds(100));
    }
    return made_ >= count;
  }
  int count() {
    MutexLock lock(&mutex_);
    return made_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int made_ ABSL_GUARDED_BY(mutex_) = 0;
};

Dataset Counted(int examples, Made& made) {
  return Numbers(examples).Map([&made](std::span<float>, std::int32_t&) { made.Add(); });
}

TEST(PrefetchTest, GivesWhatItWouldGiveWithoutIt) {
  const Dataset dataset = Numbers(103).Shuffle(40, 5).Repeat(3).Batch(7);
  for (const int ahead : {1, 2, 5, 100}) {
    EXPECT_EQ(LabelsOfBatches(dataset.Prefetch(ahead)), LabelsOfBatches(dataset)) << ahead;
  }
}

TEST(PrefetchTest, RunsAheadByItsBoundOnly) {
  Made made;
  const auto iterator = Counted(100, made).Repeat().Batch(10).Prefetch(3).CreateIterator();
  ASSERT_TRUE(iterator.ok());
  // One batch is for the consumer's hands, three are ahead of it.
  ASSERT_TRUE(made.WaitFor(40));
  for (int taken = 1; taken <= 5; ++taken) {
    ASSERT_TRUE((*iterator)->Next().ok());
    ASSERT_TRUE(made.WaitFor(10 * (3 + taken)));
    EXPECT_EQ(made.count(), 10 * (3 + taken));
  }
}

TEST(PrefetchTest, ABorrowedBatchIsLeftAlone) {
  Made made;
  const auto iterator = Counted(8, made).Batch(2).Prefetch(1).CreateIterator();
  ASSERT_TRUE(iterator.ok());
  for (int i = 0; i < 3; ++i) {
    const auto batch = (*iterator)->Next();
    ASSERT_TRUE(batch.ok() && batch->has_value());
    ASSERT_TRUE(made.WaitFor(2 * i + 4));  // the thread filled the other buffer meanwhile
    EXPECT_THAT((*batch)->labels, ElementsAre(2 * i, 2 * i + 1));
    EXPECT_EQ((*batch)->features[2], static_cast<float>(2 * i + 1));
  }
}

TEST(PrefetchTest, StopsWhileBlockedOnAFullRing) {
  Made made;
  auto iterator = Counted(10, made).Repeat().Batch(1).Prefetch(2).CreateIterator();
  ASSERT_TRUE(iterator.ok());
  ASSERT_TRUE(made.WaitFor(3));
  iterator->reset();
  EXPECT_EQ(made.count(), 3);
}

TEST(PrefetchTest, StopsAtAnyMoment) {
  for (int i = 0; i < 200; ++i) {
    auto iterator = Numbers(10).Repeat().Batch(2).Prefetch(2).CreateIterator();
    ASSERT_TRUE(iterator.ok());
    EXPECT_EQ(std::ssize(LabelsOfBatches(**iterator, i % 8)), i % 8);
  }
}

TEST(PrefetchTest, DeliversGoodBatchesThenTheError) {
  const Dataset dataset = Numbers(10).Map([](std::span<float>, std::int32_t& label) {
    return label == 7 ? absl::DataLossError("seven") : absl::OkStatus();
  });
  const auto iterator = dataset.Batch(2).Prefetch(4).CreateIterator();
  ASSERT_TRUE(iterator.ok());
  EXPECT_THAT(LabelsOfBatches(**iterator, 3),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5)));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ((*iterator)->Next().status(), absl::DataLossError("seven"));
  }
}

TEST(PrefetchTest, TheEndStaysTheEnd) {
  const auto iterator = Numbers(3).Batch(2).Prefetch(2).CreateIterator();
  ASSERT_TRUE(iterator.ok());
  EXPECT_EQ(LabelsOfBatches(**iterator, 10).size(), 2U);
  for (int i = 0; i < 3; ++i) {
    const auto batch = (*iterator)->Next();
    EXPECT_TRUE(batch.ok() && !batch->has_value());
  }
}

TEST(PrefetchTest, IteratorsOfOneDatasetOnManyThreads) {
  const Dataset dataset = Numbers(50).Shuffle(50, 1).Repeat(4).Batch(8).Prefetch(2);
  const auto expected = LabelsOfBatches(dataset);
  std::atomic<int> equal = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { equal += LabelsOfBatches(dataset) == expected ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 4);
}

}  // namespace
}  // namespace weir
