#include "common/config/strict_json.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

std::string MessageFor(const std::string& text) {
  Mistakes mistakes;
  ParseStrictJson(text, "IN", mistakes);
  return std::string(mistakes.ToStatus("IN").message());
}

std::string Nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(StrictJsonTest, BuildsWhatTheLibraryWouldBuild) {
  const std::string text =
      R"({"a": [1, -2, 3.5, "x", true, null, {"b": {}}, []], "c": {"d": [[1], [2, 3]]}})";
  Mistakes mistakes;
  const auto value = ParseStrictJson(text, "IN", mistakes);
  ASSERT_TRUE(value.has_value());
  EXPECT_TRUE(mistakes.empty());
  EXPECT_EQ(*value, nlohmann::json::parse(text));
}

TEST(StrictJsonTest, NamesEveryRepeatedKey) {
  const std::string message =
      MessageFor(R"({"a": 1, "a": 2, "l": [0, {"x": {"y": 1, "y": 2}}], "m": {"k": [], "k": {}}})");
  EXPECT_THAT(message, HasSubstr("IN: 3 mistakes"));
  EXPECT_THAT(message, HasSubstr("\n  a: stands twice"));
  EXPECT_THAT(message, HasSubstr("\n  l[1].x.y: stands twice"));
  EXPECT_THAT(message, HasSubstr("\n  m.k: stands twice"));
}

TEST(StrictJsonTest, TheSameKeyElsewhereIsFine) {
  EXPECT_EQ(MessageFor(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})"), "");
}

TEST(StrictJsonTest, RefusesWhatIsNotJson) {
  for (const char* text : {"{", "[1,]", "{} {}", "nul", "{'a': 1}", "{\"a\" 1}", "NaN", "1e999",
                           "\"\\ud800\"", "// x\n{}", "\"\n\""})
    EXPECT_THAT(MessageFor(text), HasSubstr("IN: is not JSON")) << text;
  EXPECT_THAT(MessageFor("[\"\xff\"]"), HasSubstr("\\377")) << "raw bytes reach no terminal";
  EXPECT_THAT(MessageFor(std::string("{}\0x", 4)), HasSubstr("zero byte"));
}

TEST(StrictJsonTest, BoundsDepthAndSize) {
  EXPECT_EQ(MessageFor(Nested(kMaxJsonDepth)), "");
  EXPECT_THAT(MessageFor(Nested(kMaxJsonDepth + 1)), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(MessageFor(std::string(500000, '[')), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(MessageFor(std::string(kMaxJsonBytes + 1, ' ')), HasSubstr("at most 1048576"));
  EXPECT_LT(MessageFor("\"" + std::string(500000, 'x')).size(), 500U);
}

TEST(MistakesTest, CountsWhatItLeavesOut) {
  Mistakes mistakes;
  EXPECT_TRUE(mistakes.ToStatus("X").ok());
  for (int i = 0; i < 53; ++i) mistakes.Add("key", "text");
  const std::string message(mistakes.ToStatus("X").message());
  EXPECT_THAT(message, HasSubstr("X: 53 mistakes\n  key: text\n"));
  EXPECT_THAT(message, HasSubstr("... and 3 more"));
}

}  // namespace
}  // namespace weir
