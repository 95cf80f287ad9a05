#include "common/base/numa.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/cpu.h"
#include "common/base/ids.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NumaTest, ReadsTheKernelsLists) {
  EXPECT_THAT(CpusInList("0-2,8,10-11\n"), ElementsAre(0, 1, 2, 8, 10, 11));
  EXPECT_THAT(CpusInList(""), IsEmpty());
  EXPECT_THAT(CpusInList("x,3,9-1"), ElementsAre(3));
}

TEST(NumaTest, NodesHoldOnlyWhatThisThreadMayUse) {
  const std::vector<int> allowed = AllowedCpus();
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / absl::StrCat("numa-", RandomId());
  const auto node = [&](const char* name, const std::string& list) {
    std::filesystem::create_directories(folder / name);
    std::ofstream(folder / name / "cpulist") << list << "\n";
  };
  EXPECT_THAT(NumaNodes(folder), ElementsAre(allowed)) << "one node where none is told of";
  node("node0", absl::StrCat(allowed.front()));
  node("node1", "1000-1001");  // not ours
  node("node2", "");           // memory without CPUs
  std::filesystem::create_directories(folder / "power");
  EXPECT_THAT(NumaNodes(folder), ElementsAre(ElementsAre(allowed.front())));
  std::filesystem::remove_all(folder);
}

TEST(NumaTest, AThreadIsBoundForAWhile) {
  const std::vector<int> before = AllowedCpus();
  {
    const CpuBound bound({before.back()});
    EXPECT_THAT(AllowedCpus(), ElementsAre(before.back()));
  }
  EXPECT_EQ(AllowedCpus(), before);
  {
    const CpuBound nowhere({});
    EXPECT_EQ(AllowedCpus(), before);
  }
  EXPECT_EQ(AllowedCpus(), before);
}

}  // namespace
}  // namespace weir
