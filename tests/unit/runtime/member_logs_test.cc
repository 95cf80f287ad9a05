#include "runtime/member_logs.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::Each;
using ::testing::MatchesRegex;

TEST(MemberLinesTest, PassesRecordsAndTagsTheRest) {
  MemberLines lines("ps 0", 7, LogFormat::kText);
  EXPECT_EQ(lines.Take("08:16:15.123 I ps 0: serv"), "");
  EXPECT_EQ(lines.Take("ing\nterminate called\n\n08:16:15.123 X"),
            "08:16:15.123 I ps 0: serving\nps 0 | terminate called\nps 0 | \n");
  EXPECT_EQ(lines.last_error(), "");
  EXPECT_EQ(lines.TakeRest(), "ps 0 | 08:16:15.123 X\n");
  EXPECT_EQ(lines.TakeRest(), "");
}

TEST(MemberLinesTest, RemembersTheLastError) {
  MemberLines lines("worker 1", 7, LogFormat::kText);
  lines.Take("08:16:15.123 E worker 1: first\n08:16:15.124 I worker 1: E no\n");
  EXPECT_EQ(lines.last_error(), "first");
  lines.Take("weir: bad data\n  and more\n");
  EXPECT_EQ(lines.last_error(), "bad data");
}

TEST(MemberLinesTest, MakesEveryLineAnObjectWhereTheLogIsJson) {
  MemberLines lines("ps 2", 7, LogFormat::kJson);
  const std::string record = R"({"time":"t","level":"error","role":"ps","message":"no \"x\""})";
  EXPECT_EQ(lines.Take(record + "\n"), record + "\n");
  EXPECT_EQ(lines.last_error(), "no \"x\"");
  const auto made = nlohmann::json::parse(lines.Take("Assertion \"x\" \xff\n"));
  EXPECT_EQ(made["role"], "ps");
  EXPECT_EQ(made["index"], 2);
  EXPECT_EQ(made["pid"], 7);
  EXPECT_EQ(made["message"], "Assertion \"x\" \uFFFD");
}

TEST(MemberLinesTest, GivesOutAnEndlessLineInPieces) {
  MemberLines lines("ps 0", 7, LogFormat::kText);
  std::size_t given = 0;
  for (int i = 0; i < 100; ++i) given += lines.Take(std::string(10000, 'x')).size();
  EXPECT_GT(given, 900000U);
}

// Two writers whose lines are longer than what a pipe takes at once.
TEST(MemberLogsTest, KeepsLinesWhole) {
  std::string text;
  MemberLogs logs(LogFormat::kText,
                  [&text](absl::string_view lines) { text.append(lines.data(), lines.size()); });
  std::vector<std::jthread> writers;
  for (const char letter : {'a', 'b'}) {
    auto pipe = MemberLogs::Open();
    ASSERT_TRUE(pipe.ok());
    ASSERT_TRUE(logs.Read({RoleType::kPs, letter - 'a'}, 1, std::move(pipe->read_end)).ok());
    writers.emplace_back([fd = std::move(pipe->member_end), letter] {
      const std::string line = std::string(9000, letter) + "\n";
      for (int i = 0; i < 50; ++i) {
        std::size_t done = 0;
        while (done < line.size()) {
          const ssize_t count = write(fd.get(), line.data() + done, line.size() - done);
          ASSERT_GT(count, 0);
          done += static_cast<std::size_t>(count);
        }
      }
      ASSERT_EQ(write(fd.get(), "08:16:15.123 E ps 0: cut", 24), 24);
    });
  }
  writers.clear();
  EXPECT_EQ(logs.LastError({RoleType::kPs, 0}), "cut");
  logs.Close();
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), 102U);
  EXPECT_THAT(lines, Each(MatchesRegex("ps 0 \\| a*|ps 1 \\| b*|08:16:15.123 E ps 0: cut")));
}

// A grandchild may keep its copy of the pipe for as long as it likes.
TEST(MemberLogsTest, DoesNotWaitForThoseWhoStay) {
  MemberLogs logs(LogFormat::kText, [](absl::string_view) {});
  auto pipe = MemberLogs::Open();
  ASSERT_TRUE(pipe.ok());
  ASSERT_TRUE(logs.Read({RoleType::kPs, 0}, 1, std::move(pipe->read_end)).ok());
  logs.Close();  // the test's own deadline would end it
}

}  // namespace
}  // namespace weir
