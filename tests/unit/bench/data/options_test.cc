#include "bench/data/options.h"

#include <string>
#include <vector>

#include "bench/common/sizes_flag.h"
#include "bench/data/role_options.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/exit_code.h"

namespace weir::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

TEST(SizesValueTest, UnitsArePowersOf1024) {
  std::vector<std::uint64_t> sizes;
  const FlagValue value = SizesValue(sizes);
  ASSERT_TRUE(value.set("4,8k,3m,16g").ok());
  EXPECT_THAT(sizes, ElementsAre(4, 8192, 3145728, std::uint64_t{16} << 30U));
  EXPECT_EQ(value.show(), "4,8k,3m,16g");
}

TEST(SizesValueTest, WhatIsNoSizeOfFloatsIsRefusedAndChangesNothing) {
  std::vector<std::uint64_t> sizes = {8};
  const FlagValue value = SizesValue(sizes);
  for (const char* bad : {"", "8,", "k", "-8", "+8", " 8", "8K", "8kb", "0x8", "8.5k", "1t",
                          "18446744073709551616", "18014398509481984k", "17g"}) {
    EXPECT_FALSE(value.set(bad).ok()) << bad;
  }
  for (const char* uneven : {"6", "8,1", "0", "0k"}) {
    EXPECT_THAT(std::string(value.set(uneven).message()), HasSubstr("multiple of 4")) << uneven;
  }
  EXPECT_THAT(sizes, ElementsAre(8));
}

TEST(DataBenchOptionsTest, TheWindowOfLatencyIsOne) {
  const auto latency = ParseDataBench(DataBench::kLatency, {});
  ASSERT_TRUE(latency.ok()) << latency.status();
  EXPECT_EQ(latency->window, 1);
  EXPECT_FALSE(latency->cpus.empty()) << "those that this process may use";
  EXPECT_FALSE(ParseDataBench(DataBench::kLatency, Arguments{"--window=2"}).ok());
  const auto bandwidth = ParseDataBench(DataBench::kBandwidth, Arguments{"--window=3"});
  ASSERT_TRUE(bandwidth.ok()) << bandwidth.status();
  EXPECT_EQ(bandwidth->window, 3);
}

TEST(DataBenchOptionsTest, AllMistakesAtOnce) {
  const auto options =
      ParseDataBench(DataBench::kLatency,
                     Arguments{"--sizes=8,7", "--ps=0", "--transport=rmda", "--iters=0", "x"});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(ExitCodeOf(options.status()), ExitCode::kBadUsage);
  for (const char* part : {"--sizes: \"7\"", "--ps", "--transport: \"rmda\"", "--iters", "\"x\""}) {
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(part));
  }
}

TEST(RoundsOfTest, MoveAFixedAmountWithinLimits) {
  EXPECT_EQ(RoundsOf({.rounds = 1}, 8).iters, 5000U);
  EXPECT_EQ(RoundsOf({.rounds = 1}, 1 << 20).iters, 256U);
  EXPECT_EQ(RoundsOf({.window = 4, .rounds = 1}, 1 << 20).iters, 64U);
  EXPECT_EQ(RoundsOf({.rounds = 1}, 1 << 30).iters, 30U);
  EXPECT_EQ(RoundsOf({.iters = 7, .rounds = 1}, 1 << 30).iters, 7U);
}

TEST(RoundsOfTest, AreAlikeAndNoneIsEmpty) {
  const auto expect = [](const DataBenchOptions& options, int count, std::uint64_t iters) {
    const Rounds rounds = RoundsOf(options, 8);
    EXPECT_EQ(rounds.count, count);
    EXPECT_EQ(rounds.iters, iters);
  };
  expect({.iters = 20}, 5, 4);
  expect({.iters = 21}, 5, 5);
  expect({.iters = 3}, 3, 1);
  expect({.iters = 1, .rounds = 100}, 1, 1);
}

TEST(WarmUpOfTest, IsATenthButNeverMoreThanWhatIsTimed) {
  EXPECT_EQ(WarmUpOf(1), 1U);
  EXPECT_EQ(WarmUpOf(9), 9U);
  EXPECT_EQ(WarmUpOf(30), 10U);
  EXPECT_EQ(WarmUpOf(5000), 500U);
}

TEST(RoleOptionsTest, SurviveTheCommandLine) {
  const RoleOptions options{.size = 12,
                            .tensors = 3,
                            .ps = 2,
                            .workers = 4,
                            .transport = TransportChoice::kShm,
                            .iters = 5,
                            .warm_up = 0,
                            .index = 1,
                            .cpus = {9, 11},
                            .parent = 77,
                            .shards = "127.0.0.1:1,127.0.0.1:2"};
  const auto read = ParseRole(RoleFlags(options));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(RoleFlags(*read), RoleFlags(options));
  EXPECT_EQ(read->shards, options.shards);
  EXPECT_EQ(read->transport, TransportChoice::kShm);
}

}  // namespace
}  // namespace weir::bench
