#include "bench/train/options.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/exit_code.h"

namespace weir::bench {
namespace {

using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

TEST(TrainBenchOptionsTest, OneWorkerAndOnePsByDefault) {
  const auto options = ParseTrainBench({});
  ASSERT_TRUE(options.ok()) << options.status();
  ASSERT_EQ(options->sizes.size(), 1U);
  EXPECT_EQ(options->sizes[0].workers, 1);
  EXPECT_EQ(options->sizes[0].ps, 1);
  EXPECT_FALSE(options->cpus.empty()) << "those that this process may use";
}

TEST(TrainBenchOptionsTest, OneNumberOfPsServesEveryRun) {
  const auto options = ParseTrainBench(Arguments{"--workers=1,2,4", "--ps=2"});
  ASSERT_TRUE(options.ok()) << options.status();
  ASSERT_EQ(options->sizes.size(), 3U);
  EXPECT_EQ(options->sizes[2].workers, 4);
  EXPECT_EQ(options->sizes[2].ps, 2);
}

TEST(TrainBenchOptionsTest, AllMistakesAtOnce) {
  const auto options =
      ParseTrainBench(Arguments{"--workers=1,2,4", "--ps=1,2", "--pairs=0", "--cpus=a", "x"});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(ExitCodeOf(options.status()), ExitCode::kBadUsage);
  for (const char* part : {"--ps: has 2 numbers, --workers 3", "--pairs", "--cpus", "\"x\""}) {
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(part));
  }
}

TEST(AloneOptionsTest, SurviveTheCommandLine) {
  const AloneOptions options{.steps = 7,
                             .batch_size = 3,
                             .learning_rate = 0.25F,
                             .seed = 9,
                             .data_dir = "/some where",
                             .cpu = 1,
                             .worker = 1,
                             .workers = 2,
                             .parent = 12};
  const auto read = ParseAlone(AloneFlags(options));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(AloneFlags(*read), AloneFlags(options));
  EXPECT_EQ(read->data_dir, options.data_dir);
  EXPECT_EQ(read->parent, 12);
}

}  // namespace
}  // namespace weir::bench
