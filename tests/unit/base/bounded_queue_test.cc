#include "common/base/bounded_queue.h"

#include <numeric>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(BoundedQueueTest, RefusesWhenFullAndDrainsAfterClose) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.TryPush(1));
  EXPECT_TRUE(queue.TryPush(2));
  EXPECT_FALSE(queue.TryPush(3));
  queue.Close();
  EXPECT_FALSE(queue.TryPush(4));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, PopForGivesUp) {
  BoundedQueue<int> queue(1);
  EXPECT_EQ(queue.PopFor(absl::Milliseconds(1)), std::nullopt);
}

TEST(BoundedQueueTest, ManyProducersAndConsumersLoseNothing) {
  BoundedQueue<int> queue(3);
  constexpr int kEach = 2000;
  std::vector<std::jthread> producers;
  for (int p = 0; p < 3; ++p) {
    producers.emplace_back([&queue, p] {
      for (int i = 0; i < kEach; ++i) ASSERT_TRUE(queue.Push(p * kEach + i));
    });
  }
  std::vector<long> sums(2);
  {
    std::vector<std::jthread> consumers;
    for (long& sum : sums) {
      consumers.emplace_back([&queue, &sum] {
        while (auto item = queue.Pop()) sum += *item;
      });
    }
    producers.clear();
    queue.Close();
  }
  const long n = 3L * kEach;
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), 0L), n * (n - 1) / 2);
}

}  // namespace
}  // namespace weir
