#include "common/config/cpu_pins.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/cpu.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST(CpuPinsTest, MembersTakeTurns) {
  const CpuPins pins{.cpus = {{RoleType::kWorker, {4, 7}}}};
  EXPECT_EQ(pins.CpuOf({RoleType::kWorker, 0}), 4);
  EXPECT_EQ(pins.CpuOf({RoleType::kWorker, 1}), 7);
  EXPECT_EQ(pins.CpuOf({RoleType::kWorker, 2}), 4);
  EXPECT_EQ(pins.CpuOf({RoleType::kPs, 0}), -1) << "not pinned";
}

TEST(CpuPinsTest, SurvivesTheCommandLine) {
  const int cpu = AllowedCpus().front();
  const std::string text = absl::StrCat("worker=", cpu, "+", cpu, ",ps=", cpu);
  CpuPins pins;
  const FlagValue value = CpuPinsValue(pins);
  EXPECT_EQ(value.show(), std::nullopt);
  ASSERT_TRUE(value.set(text).ok());
  EXPECT_EQ(pins.cpus[RoleType::kWorker].size(), 2U);
  EXPECT_EQ(value.show(), text);
}

TEST(CpuPinsTest, NamesWhatIsWrong) {
  CpuPins pins;
  const FlagValue value = CpuPinsValue(pins);
  for (const auto& [text, part] : {std::pair{"boss=0", "'boss=0'"},
                                   {"ps", "'ps'"}, {"ps=0+", "CPU ''"},
                                   {"ps=0,worker=99999", "CPU '99999'"},
                                   {"", "ROLE=CPU"}}) {
    const absl::Status status = value.set(text);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
  EXPECT_TRUE(pins.cpus.empty()) << "a refused value changes nothing";
}

}  // namespace
}  // namespace weir
