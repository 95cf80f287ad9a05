#include "common/base/log.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_split.h"
#include "common/base/log_line.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using nlohmann::json;

std::string LineOf(absl::string_view message) {
  LogRecord record{.time = absl::FromUnixMicros(1'767'323'045'000'006), .pid = 7};
  SetSource("ps 0", record);
  record.message = message;
  return JsonLogLine(record);
}

TEST(JsonLogLineTest, HasTheFieldsOfTheContract) {
  EXPECT_EQ(LineOf("step 1"),
            R"({"time":"2026-01-02T03:04:05.000006Z","level":"info","role":"ps","index":0,"pid":7,)"
            R"("message":"step 1"})");
}

TEST(JsonLogLineTest, KeepsAnyBytesOnOneLine) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string message = std::string("a") + static_cast<char>(byte) + "b";
    const std::string line = LineOf(message);
    EXPECT_EQ(line.find('\n'), std::string::npos) << byte;
    const json parsed = json::parse(line, nullptr, false);
    ASSERT_TRUE(parsed.is_object()) << byte;
    EXPECT_EQ(parsed["message"], byte < 128 ? message : "a\uFFFDb") << byte;
  }
  EXPECT_EQ(json::parse(LineOf("\u00e9\u4e16\U0001F30A"))["message"], "\u00e9\u4e16\U0001F30A");
  EXPECT_EQ(json::parse(LineOf("cut \xe4\xb8"))["message"], "cut \uFFFD");
  EXPECT_EQ(json::parse(LineOf("\"}\\{"))["message"], "\"}\\{");
}

TEST(JsonLogLineTest, SplitsTheSource) {
  LogRecord record;
  SetSource("chief", record);
  EXPECT_EQ(record.role, "chief");
  EXPECT_EQ(record.index, std::nullopt);
  SetSource("worker 12", record);
  EXPECT_EQ(record.role, "worker");
  EXPECT_EQ(record.index, 12);
}

// What the process writes to stderr.
std::string Captured(LogLevel least, LogFormat format) {
  testing::internal::CaptureStderr();
  StartLogging("worker 1", least, format);
  LogDebug("a debug line");
  LogInfo("braces {} and ", 1);
  LogError("two\nlines");
  return testing::internal::GetCapturedStderr();
}

TEST(LogTest, WritesJsonFromTheLevelOn) {
  const std::string text = Captured(LogLevel::kDebug, LogFormat::kJson);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3U) << text;
  const json last = json::parse(lines[2]);
  EXPECT_EQ(last["level"], "error");
  EXPECT_EQ(last["role"], "worker");
  EXPECT_EQ(last["index"], 1);
  EXPECT_EQ(last["pid"], getpid());
  EXPECT_EQ(last["message"], "two\nlines");
  absl::Time time;
  std::string error;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full, last["time"].get<std::string>(), &time, &error));
  EXPECT_EQ(json::parse(lines[1])["message"], "braces {} and 1");
  EXPECT_EQ(log_format(), LogFormat::kJson);
}

TEST(LogTest, LeavesOutWhatIsBelowTheLevel) {
  const std::string text = Captured(LogLevel::kError, LogFormat::kText);
  EXPECT_THAT(text, testing::HasSubstr(" E worker 1: two\nlines\n"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("braces")));
}

}  // namespace
}  // namespace weir
