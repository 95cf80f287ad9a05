#include "common/config/flag_table.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Variables {
  std::string every = "unset";
  int count = 3;
  bool on = false;

  FlagTable Table() {
    const FlagValue any = {[this](absl::string_view text) {
                             every = std::string(text);
                             return absl::OkStatus();
                           },
                           [this] { return every; }};
    return {{"--every", "[SECONDS]", "again and again", any},
            {"--count", "N", "how many", IntegerIn(count, 1, 9)},
            {"--on", "", "switch", Switch(on)}};
  }
};

TEST(FlagTableTest, AValueInBracketsMayBeLeftOut) {
  struct Case {
    std::vector<std::string> arguments;
    std::string every;
    bool on;
  };
  const std::vector<Case> cases = {{{"--every"}, "", false},
                                   {{"--every", "--on"}, "", true},
                                   {{"--every", "2", "--on"}, "2", true},
                                   {{"--every=2"}, "2", false},
                                   {{"--on"}, "unset", true}};
  for (const Case& c : cases) {
    Variables variables;
    Mistakes mistakes;
    const ParsedFlags parsed = ParseFlags(c.arguments, variables.Table(), mistakes);
    EXPECT_TRUE(mistakes.empty()) << mistakes.ToStatus("test");
    EXPECT_EQ(variables.every, c.every);
    EXPECT_EQ(variables.on, c.on);
    EXPECT_TRUE(parsed.positionals.empty());
  }
}

TEST(FlagTableTest, DescribesItselfWithoutItsVariables) {
  std::vector<FlagText> rows;
  {
    Variables variables;
    rows = Describe(variables.Table());
  }
  std::vector<std::string> names;
  for (const FlagText& row : rows) names.push_back(row.name);
  EXPECT_THAT(names, ElementsAre("--every", "--count", "--on", "--help"));
  EXPECT_EQ(rows[1].default_text, "3");
  EXPECT_THAT(FlagsHelp(rows), HasSubstr("--count N                       how many [3]\n"));
}

}  // namespace
}  // namespace weir
