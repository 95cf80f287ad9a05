#include "doctor/report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/unit/doctor/expect_check.h"

namespace weir::doctor {
namespace {

using testing::ElementsAre;

const std::vector<Check> kChecks = {Ok("UCX", "1.13.1"), Warn("/dev/shm", "8 MiB", "more of it"),
                                    Fail("open files", "16", "ulimit -n 65536")};

TEST(ReportTest, TheWorstCounts) {
  EXPECT_EQ(Worst({}), Verdict::kOk);
  EXPECT_EQ(Worst(std::span(kChecks).first(1)), Verdict::kOk);
  EXPECT_EQ(Worst(std::span(kChecks).first(2)), Verdict::kWarn);
  EXPECT_EQ(Worst(kChecks), Verdict::kFail);
}

TEST(ReportTest, ColumnsForPeople) {
  EXPECT_EQ(ReportText(kChecks),
            "ok    UCX         1.13.1\n"
            "warn  /dev/shm    8 MiB\n"
            "                  fix: more of it\n"
            "fail  open files  16\n"
            "                  fix: ulimit -n 65536\n"
            "result: fail (1 ok, 1 warn, 1 fail)\n");
}

TEST(ReportTest, LongTextIsWrapped) {
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word" + std::to_string(i) + " ";
  const std::string text = ReportText(std::vector{Warn("name", words, words)});
  int count = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(line.size(), 100) << line;
    for (const absl::string_view word : absl::StrSplit(line, ' '))
      count += absl::StartsWith(word, "word") ? 1 : 0;
  }
  EXPECT_EQ(count, 120);
}

TEST(ReportTest, AWordThatIsTooLongIsKeptWhole) {
  const std::string word(150, 'x');
  EXPECT_THAT(ReportText(std::vector{Ok("name", "a " + word + " b")}),
              testing::HasSubstr("a\n            " + word + "\n            b\n"));
}

TEST(ReportTest, JsonForPrograms) {
  const auto report = nlohmann::json::parse(ReportJson(kChecks));
  EXPECT_EQ(report.at("result"), "fail");
  ASSERT_EQ(report.at("checks").size(), 3);
  EXPECT_EQ(
      report.at("checks")[1],
      (nlohmann::json{
          {"name", "/dev/shm"}, {"status", "warn"}, {"found", "8 MiB"}, {"fix", "more of it"}}));
}

TEST(ReportTest, JsonOfBytesThatAreNoText) {
  EXPECT_NO_THROW(nlohmann::json::parse(ReportJson(std::vector{Ok("name", "\xff")})));
}

TEST(ReportTest, ReadsItsOwnJson) {
  const auto read = ParseReportJson(ReportJson(kChecks));
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), kChecks.size());
  for (std::size_t i = 0; i < kChecks.size(); ++i) {
    EXPECT_EQ((*read)[i].name, kChecks[i].name);
    EXPECT_EQ((*read)[i].verdict, kChecks[i].verdict);
    EXPECT_EQ((*read)[i].found, kChecks[i].found);
    EXPECT_EQ((*read)[i].fix, kChecks[i].fix);
  }
}

TEST(ReportTest, ReadsNoBrokenJson) {
  const std::string whole = ReportJson(kChecks);
  for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
    EXPECT_FALSE(ParseReportJson(whole.substr(0, length)).has_value()) << length;
  }
  EXPECT_FALSE(ParseReportJson("[]").has_value());
  EXPECT_FALSE(ParseReportJson(R"({"checks": [{"name": 1}]})").has_value());
  EXPECT_FALSE(
      ParseReportJson(R"({"checks": [{"name": "a", "status": "odd", "found": "", "fix": ""}]})")
          .has_value());
}

}  // namespace
}  // namespace weir::doctor
