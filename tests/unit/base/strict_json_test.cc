#include "common/base/strict_json.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr JsonLimits kLimits;

/// All faults, a line each.
std::string MessageFor(const std::string& text, const JsonLimits& limits = kLimits) {
  std::vector<JsonFault> faults;
  ReadJson(text, limits, faults);
  std::string message;
  for (const JsonFault& fault : faults) message += fault.path + ": " + fault.what + "\n";
  return message;
}

std::string Nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(StrictJsonTest, BuildsWhatTheLibraryWouldBuild) {
  const std::string text =
      R"({"a": [1, -2, 3.5, "x", true, null, {"b": {}}, []], "c": {"d": [[1], [2, 3]]}})";
  std::vector<JsonFault> faults;
  const auto value = ReadJson(text, kLimits, faults);
  ASSERT_TRUE(value.has_value());
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(*value, nlohmann::json::parse(text));
  EXPECT_EQ(ParseStrictJson(text, kLimits).value(), *value);
}

TEST(StrictJsonTest, NamesEveryRepeatedKey) {
  const std::string message =
      MessageFor(R"({"a": 1, "a": 2, "l": [0, {"x": {"y": 1, "y": 2}}], "m": {"k": [], "k": {}}})");
  EXPECT_THAT(message, HasSubstr("a: stands twice"));
  EXPECT_THAT(message, HasSubstr("\nl[1].x.y: stands twice"));
  EXPECT_THAT(message, HasSubstr("\nm.k: stands twice"));
}

TEST(StrictJsonTest, APersonMayGoOnWithTheLastAProgramMayNot) {
  const char* text = R"({"a": [{"k": 1, "k": 2}], "b": 3})";
  std::vector<JsonFault> faults;
  const auto value = ReadJson(text, kLimits, faults);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(*value, nlohmann::json::parse(R"({"a": [{"k": 2}], "b": 3})"));
  const auto strict = ParseStrictJson(text, kLimits);
  EXPECT_EQ(strict.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(strict.status().message()), HasSubstr("key \"a[0].k\" stands twice"));
}

TEST(StrictJsonTest, KnowsTheLinesOfTheOutermostKeys) {
  const char* text =
      "{\n\"a\": {\"x\": \"\\n\",\n\n\"a\": 1}, \"b\"\n: [\n], \"c\": 2,\n \"b\": 3}\n";
  std::vector<JsonFault> faults;
  JsonLines lines;
  ASSERT_TRUE(ReadJson(text, kLimits, faults, &lines).has_value());
  EXPECT_EQ(lines, (JsonLines{{"a", 2}, {"b", 7}, {"c", 6}}));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].line, 7U);
}

TEST(StrictJsonTest, EndlessFaultsEndTheReading) {
  std::string text = "{\"a\":0";
  for (int i = 0; i < 20000; ++i) text += ",\"a\":0";
  std::vector<JsonFault> faults;
  EXPECT_EQ(ReadJson(text + "}", kLimits, faults), std::nullopt);
  EXPECT_EQ(faults.size(), 1000U);
}

TEST(StrictJsonTest, TheSameKeyElsewhereIsFine) {
  EXPECT_EQ(MessageFor(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})"), "");
}

TEST(StrictJsonTest, RefusesWhatIsNotJson) {
  for (const char* text : {"{", "[1,]", "{} {}", "nul", "{'a': 1}", "{\"a\" 1}", "NaN", "1e999",
                           "\"\\ud800\"", "// x\n{}", "\"\n\""})
    EXPECT_THAT(MessageFor(text), HasSubstr(": is not JSON")) << text;
  EXPECT_THAT(MessageFor("[\"\xff\"]"), HasSubstr("\\377")) << "raw bytes reach no terminal";
  EXPECT_THAT(MessageFor(std::string("{}\0x", 4)), HasSubstr("zero byte"));
}

TEST(StrictJsonTest, BoundsDepthSizeAndValues) {
  EXPECT_EQ(MessageFor(Nested(kLimits.depth)), "");
  EXPECT_THAT(MessageFor(Nested(kLimits.depth + 1)), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(MessageFor(std::string(500000, '[')), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(MessageFor(std::string(kLimits.bytes + 1, ' ')), HasSubstr("at most 1048576"));
  EXPECT_LT(MessageFor("\"" + std::string(500000, 'x')).size(), 500U);
  EXPECT_EQ(MessageFor("[1, 2]", {.values = 3}), "");
  EXPECT_THAT(MessageFor("[1, 2, 3]", {.values = 3}), HasSubstr("more than 3 values"));
}

TEST(StrictJsonTest, QuotesUtf8Only) {
  EXPECT_EQ(QuoteJson("a\"b\n\u00e9").value(), "\"a\\\"b\\n\u00e9\"");
  EXPECT_FALSE(QuoteJson("\xff").ok());
}

}  // namespace
}  // namespace weir
