#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "bench/data/control.h"
#include "gtest/gtest.h"

namespace weir::bench {
namespace {

TEST(ControlTest, IsChosenByThePathThatWasUsed) {
  EXPECT_EQ(ControlFabricOf("message (ucx tcp/lo)"), net::UcxFabric::kTcp);
  EXPECT_EQ(ControlFabricOf("message (ucx sysv)"), net::UcxFabric::kShm);
  EXPECT_EQ(ControlFabricOf("rdma (messages over ucx rc_verbs/rxe0:1)"), net::UcxFabric::kRdma);
  EXPECT_EQ(ControlFabricOf("mapped (ucx tcp/lo)"), net::UcxFabric::kShm);
}

TEST(ControlTest, NamesSurvive) {
  for (const auto kind : {ControlKind::kMessage, ControlKind::kEagerMessage, ControlKind::kGet}) {
    EXPECT_EQ(*ControlKindOf(NameOf(kind)), kind);
  }
  for (const auto fabric : {net::UcxFabric::kTcp, net::UcxFabric::kShm, net::UcxFabric::kRdma}) {
    EXPECT_EQ(*FabricOf(NameOf(fabric)), fabric);
  }
  EXPECT_FALSE(ControlKindOf("rdma").ok());
  EXPECT_FALSE(FabricOf("").ok());
}

TEST(ControlTest, RefusesWhatIsNoTicket) {
  for (const char* ticket : {"", "00", "00:00", "00:00:x"}) {
    EXPECT_FALSE(RunControl({.size = 8}, ticket).ok()) << ticket;
  }
}

class ControlOverTest : public ::testing::TestWithParam<net::UcxFabric> {};

TEST_P(ControlOverTest, EveryKindMovesTheRightBytes) {
  constexpr std::uint64_t kSize = 300'000;  // more than any one segment
  const auto responder = ControlResponder::Create(GetParam(), kSize, /*window=*/3);
  ASSERT_TRUE(responder.ok()) << responder.status();
  std::atomic<bool> done = false;  // publishes nothing
  std::jthread serving([&] { (*responder)->Serve([&] { return done.load(); }); });
  for (const auto kind : {ControlKind::kGet, ControlKind::kMessage, ControlKind::kEagerMessage}) {
    const ControlRun run{
        .fabric = GetParam(), .kind = kind, .size = kSize, .window = 3, .iters = 4};
    const auto samples = RunControl(run, (*responder)->ticket());
    EXPECT_TRUE(samples.ok()) << samples.status();
    if (!samples.ok()) continue;
    EXPECT_EQ(samples->wrong, 0U) << NameOf(kind);
    EXPECT_EQ(samples->nanoseconds.size(), 4U);
  }
  done = true;
}

TEST_P(ControlOverTest, AGetAfterAMessageIsWrongByEveryElement) {
  constexpr int kWindow = 8;
  const auto responder = ControlResponder::Create(GetParam(), 8, kWindow);
  ASSERT_TRUE(responder.ok()) << responder.status();
  std::atomic<bool> done = false;
  std::jthread serving([&] { (*responder)->Serve([&] { return done.load(); }); });
  ControlRun run{.fabric = GetParam(), .size = 8, .window = kWindow};
  EXPECT_TRUE(RunControl(run, (*responder)->ticket()).ok());
  run.kind = ControlKind::kGet;
  const auto samples = RunControl(run, (*responder)->ticket());
  done = true;
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_GE(samples->wrong, 2U * kWindow) << "bytes of both elements of each place";
}

INSTANTIATE_TEST_SUITE_P(On, ControlOverTest,
                         ::testing::Values(net::UcxFabric::kTcp, net::UcxFabric::kShm),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::bench
