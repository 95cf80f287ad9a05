#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "common/config/mistakes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::cli {
namespace {

std::string PageOf(absl::string_view subject, int mistakes) {
  Mistakes list;
  for (int i = 0; i < mistakes; ++i) list.Add(absl::StrCat("--m", i), "is wrong");
  return ErrorPage(list.ToStatus(subject).message());
}

TEST(ErrorPageTest, ShowsAllThatFitsInFiveLines) {
  EXPECT_EQ(ErrorPage("no such file"), "weir: no such file\n");
  EXPECT_EQ(ErrorPage("a\nb\n"), "weir: a\nb\n");
  EXPECT_EQ(PageOf("weir run", 4),
            "weir: weir run: 4 mistakes\n  --m0: is wrong\n  --m1: is wrong\n  --m2: is wrong\n"
            "  --m3: is wrong\n");
}

TEST(ErrorPageTest, SaysWhereTheRestIs) {
  EXPECT_EQ(PageOf("weir run", 60),
            "weir: weir run: 60 mistakes\n  --m0: is wrong\n  --m1: is wrong\n  --m2: is wrong\n"
            "  ... and 57 more: `weir config` with the same flags shows them all\n");
  EXPECT_THAT(PageOf("weir local", 5),
              testing::EndsWith("  ... and 2 more: `weir config local` with the same flags shows "
                                "them all\n"));
  EXPECT_THAT(ErrorPage("weir run: 3 mistakes\n  1\n  2\n  3\nTF_CONFIG: 2 mistakes\n  4\n  5"),
              testing::EndsWith("... and 2 more: `weir config` with the same flags shows them "
                                "all\n"))
      << "headings are no mistakes";
  EXPECT_THAT(ErrorPage("a\nb\nc\nd\ne\nf"), testing::EndsWith("\nd\n  ... and 2 more lines\n"));
}

TEST(CommandsTest, EachTellsOfItself) {
  std::set<std::string> names;
  for (const Command& command : Commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    EXPECT_FALSE(command.summary.empty()) << command.name;
    EXPECT_NE(command.run, nullptr) << command.name;
    EXPECT_THAT(HelpOf(command.name), testing::HasSubstr(command.summary));
    if (command.flags == nullptr) continue;
    for (const FlagText& flag : command.flags())
      EXPECT_THAT(HelpOf(command.name), testing::HasSubstr(flag.name));
  }
}

}  // namespace
}  // namespace weir::cli
