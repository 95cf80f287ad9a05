#include "ps_server/logic/tickets.h"

#include "gtest/gtest.h"

namespace weir::ps {
namespace {

constexpr WorkerIndex kFirst{0};
constexpr WorkerIndex kSecond{1};

TEST(TicketsTest, HandsOutEachStepOnceAndEndsAtMax) {
  Tickets tickets(Step(10), Step(12), 2);
  EXPECT_EQ(tickets.Take(kFirst), Step(11));
  EXPECT_EQ(tickets.Take(kSecond), Step(12));
  EXPECT_TRUE(tickets.Complete(kFirst, Step(11)));
  EXPECT_EQ(tickets.Take(kFirst), std::nullopt);
  EXPECT_EQ(tickets.global_step(), Step(11));
  EXPECT_FALSE(tickets.finished());
  EXPECT_TRUE(tickets.Complete(kSecond, Step(12)));
  EXPECT_TRUE(tickets.finished());
}

TEST(TicketsTest, CountsOnlyWhatTheWorkerHolds) {
  Tickets tickets(Step(0), Step(5), 2);
  ASSERT_EQ(tickets.Take(kFirst), Step(1));
  EXPECT_FALSE(tickets.Complete(kSecond, Step(1)));
  EXPECT_FALSE(tickets.Complete(kFirst, Step(2)));
  EXPECT_TRUE(tickets.Complete(kFirst, Step(1)));
  EXPECT_FALSE(tickets.Complete(kFirst, Step(1)));
  EXPECT_EQ(tickets.global_step(), Step(1));
}

TEST(TicketsTest, TheLowestStepGivenBackIsHandedOutFirst) {
  Tickets tickets(Step(0), Step(5), 3);
  ASSERT_EQ(tickets.Take(kFirst), Step(1));
  ASSERT_EQ(tickets.Take(kSecond), Step(2));
  tickets.GiveBack(kSecond);
  tickets.GiveBack(kFirst);
  tickets.GiveBack(kFirst);
  EXPECT_EQ(tickets.held_by(kFirst), std::nullopt);
  EXPECT_EQ(tickets.Take(WorkerIndex(2)), Step(1));
  EXPECT_EQ(tickets.Take(kFirst), Step(2));
  EXPECT_EQ(tickets.Take(kSecond), Step(3));
}

TEST(TicketsTest, StoppedHandsOutNothingButCountsWhatIsHeld) {
  Tickets tickets(Step(0), Step(5), 2);
  ASSERT_EQ(tickets.Take(kFirst), Step(1));
  tickets.Stop();
  EXPECT_EQ(tickets.Take(kSecond), std::nullopt);
  EXPECT_TRUE(tickets.Complete(kFirst, Step(1)));
  EXPECT_EQ(tickets.global_step(), Step(1));
}

TEST(TicketsTest, NothingIsLeftWhenStartIsAtOrBeyondMax) {
  Tickets tickets(Step(7), Step(5), 1);
  EXPECT_TRUE(tickets.finished());
  EXPECT_EQ(tickets.Take(kFirst), std::nullopt);
}

}  // namespace
}  // namespace weir::ps
