#include "common/checkpoint/safetensors.h"

#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
#include "common/checkpoint/safetensors_dtype.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

void ExpectRefused(const std::string& json, std::uint64_t data_bytes, const std::string& why) {
  const auto header = ParseSafetensorsHeader(json, data_bytes);
  ASSERT_FALSE(header.ok()) << json;
  EXPECT_EQ(header.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(header.status().message()), HasSubstr(why)) << json;
}

std::string Entry(const std::string& shape, int begin, int end, const std::string& dtype = "F32") {
  return absl::StrCat("{\"dtype\":\"", dtype, "\",\"shape\":", shape, ",\"data_offsets\":[", begin,
                      ",", end, "]}");
}

TEST(SafetensorsTest, ReadsEveryKindOfEntry) {
  const std::string json =
      absl::StrCat("{\"__metadata__\":{\"k\":\"v\"},\"b\":", Entry("[2]", 4, 8, "BF16"),
                   ",\"a\":", Entry("[]", 0, 4), ",\"none\":", Entry("[0,7]", 4, 4), "}   ");
  const auto header = ParseSafetensorsHeader(json, 8);
  ASSERT_TRUE(header.ok()) << header.status();
  ASSERT_EQ(header->entries.size(), 3U);
  EXPECT_EQ(header->entries[0].name, "a");
  EXPECT_TRUE(header->entries[0].shape.empty());
  EXPECT_EQ(header->entries[1].name, "none");
  EXPECT_EQ(header->entries[2].dtype, "BF16");
  EXPECT_EQ(header->metadata.at("k"), "v");
  EXPECT_TRUE(ParseSafetensorsHeader("{}", 0).ok());
}

/// A whole header whose one entry has these parts, as they stand.
std::string OneEntry(const std::string& dtype, const std::string& shape,
                     const std::string& offsets) {
  return absl::StrCat(R"({"a":{"dtype":)", dtype, R"(,"shape":)", shape, R"(,"data_offsets":)",
                      offsets, "}}");
}

struct BadHeader {
  std::string json;
  std::uint64_t data_bytes;
  const char* why;
};

TEST(SafetensorsTest, RefusesABrokenStructure) {
  const std::string f32 = R"("F32")";
  const std::vector<BadHeader> table = {
      {"", 0, "'{'"},
      {" {}", 0, "'{'"},
      {"\xef\xbb\xbf{}", 0, "'{'"},
      {"[]", 0, "'{'"},
      {"{\"a\":", 0, "is not JSON"},
      {"{} x", 0, "is not JSON"},
      {"{}{}", 0, "is not JSON"},
      {"{/**/}", 0, "is not JSON"},
      {"{\"a\":NaN}", 0, "is not JSON"},
      {std::string("{}\0 x", 5), 0, "zero byte"},
      {"{\"a\":1}", 0, "'a' is not an object"},
      {"{\"a\":null}", 0, "'a' is not an object"},
      {"{\"a\":{}}", 0, "dtype"},
      {"{\"\xff\":{}}", 0, "is not JSON"},
      {"{\"a\":\"\\ud800\"}", 0, "is not JSON"},
      {R"({"__metadata__":{"a":1}})", 0, "key 'a' is not a string"},
      {R"({"__metadata__":{"a":{"b":"c"}}})", 0, "not a string"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", 0, "stands twice"},
      {R"({"__metadata__":[]})", 0, "not an object"},
      {R"({"__metadata__":null})", 0, "not an object"},
      {OneEntry("32", "[1]", "[0,4]"), 4, "no dtype"},
      {OneEntry(R"("F33")", "[1]", "[0,4]"), 4, "dtype 'F33' is not known"},
      {OneEntry(R"("f32")", "[1]", "[0,4]"), 4, "dtype 'f32' is not known"},
      {OneEntry(R"("")", "[1]", "[0,4]"), 4, "dtype '' is not known"},
      {OneEntry(f32, "1", "[0,4]"), 4, "no shape"},
      {OneEntry(f32, "[-1]", "[0,4]"), 4, "dimension"},
      {OneEntry(f32, "[1.0]", "[0,4]"), 4, "dimension"},
      {OneEntry(f32, "[1e0]", "[0,4]"), 4, "dimension"},
      {OneEntry(f32, R"(["1"])", "[0,4]"), 4, "dimension"},
      {OneEntry(f32, "[[1]]", "[0,4]"), 4, "dimension"},
      {OneEntry(f32, "[9223372036854775808]", "[0,4]"), 4, "dimension"},
      {OneEntry(f32, "[99999999999999999999]", "[0,4]"), 4, "dimension"},
      {OneEntry(f32, "[1]", "[0]"), 4, "offsets"},
      {OneEntry(f32, "[1]", "[0,4,8]"), 4, "offsets"},
      {OneEntry(f32, "[1]", "[-4,0]"), 4, "offsets"},
      {OneEntry(f32, "[1]", "[0,4.0]"), 4, "offsets"},
      {OneEntry(f32, "[1]", R"({"0":4})"), 4, "offsets"},
      {OneEntry(f32, "[1]", "[4,0]"), 4, "do not hold"},
      {OneEntry(f32, "[1]", "[18446744073709551612,0]"), 4, "do not hold"},
      {OneEntry(f32, "[1]", "[18446744073709551612,18446744073709551615]"), 4, "do not hold"},
      {OneEntry(f32, "[1]", "[4294967296,4294967300]"), 4, "after a hole"},
      {OneEntry(f32, "[268435456]", "[0,1073741824]"), 4, "truncated"},
      {OneEntry(f32, "[2305843009213693951]", "[0,9223372036854775804]"), 4, "truncated"},
      {OneEntry(f32, "[2305843009213693952]", "[0,9223372036854775808]"), 4, "overflow"},
      {OneEntry(f32, "[]", "[0,0]"), 0, "do not hold the 4 bytes"},
      {OneEntry(f32, "[0]", "[0,4]"), 4, "do not hold the 0 bytes"},
      {OneEntry(R"("F4")", "[3]", "[0,1]"), 1, "3 elements of 4 bits"},
      {OneEntry(R"("F6_E2M3")", "[5]", "[0,3]"), 3, "5 elements of 6 bits"},
  };
  for (const BadHeader& bad : table) ExpectRefused(bad.json, bad.data_bytes, bad.why);
}

TEST(SafetensorsTest, RefusesDuplicateNames) {
  ExpectRefused(absl::StrCat("{\"a\":", Entry("[1]", 0, 4), ",\"a\":", Entry("[1]", 4, 8), "}"), 8,
                "key \"a\" stands twice");
  // However the name is written.
  ExpectRefused(
      absl::StrCat("{\"a\":", Entry("[1]", 0, 4), ",\"\\u0061\":", Entry("[1]", 4, 8), "}"), 8,
      "key \"a\" stands twice");
}

TEST(SafetensorsTest, ToleratesWhatTheReferenceDoes) {
  // White space, and a further key in an entry, whatever it holds.
  const auto header = ParseSafetensorsHeader(
      "{ \"a\" : {\"dtype\":\"F32\",\"shape\":[ 1 ],\"x\":[[{}]],\"data_offsets\":[0,4]}}\n  ", 4);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->entries[0].end, 4U);
}

TEST(SafetensorsTest, KnowsEveryPublishedDtype) {
  // Bytes of eight elements.
  const std::vector<std::pair<const char*, int>> widths = {
      {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
      {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
      {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
      {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
      {"I64", 64},        {"U64", 64}};
  for (const auto& [dtype, bytes] : widths) {
    const auto header =
        ParseSafetensorsHeader(absl::StrCat("{\"a\":", Entry("[2,4]", 0, bytes, dtype), "}"),
                               static_cast<std::uint64_t>(bytes));
    EXPECT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(SafetensorsBits(dtype), static_cast<unsigned>(bytes));
  }
}

TEST(SafetensorsTest, RefusesHolesOverlapsAndTrailingBytes) {
  const std::string first = absl::StrCat("{\"a\":", Entry("[1]", 0, 4), ",\"b\":");
  ExpectRefused(absl::StrCat(first, Entry("[1]", 8, 12), "}"), 12, "after a hole");
  ExpectRefused(absl::StrCat(first, Entry("[1]", 2, 6), "}"), 8, "inside another");
  ExpectRefused(absl::StrCat(first, Entry("[1]", 0, 4), "}"), 4, "inside another");
  ExpectRefused(absl::StrCat(first, Entry("[1]", 4, 8), "}"), 9, "trailing");
  ExpectRefused(absl::StrCat(first, Entry("[1]", 4, 8), "}"), 7, "truncated");
  ExpectRefused(absl::StrCat("{\"a\":", Entry("[1]", 4, 8), "}"), 8, "hole");
  ExpectRefused("{}", 1, "trailing");
}

TEST(SafetensorsTest, RefusesSizesThatDoNotMatchOrOverflow) {
  ExpectRefused(absl::StrCat("{\"a\":", Entry("[2]", 0, 4), "}"), 4, "do not hold the 8 bytes");
  ExpectRefused(absl::StrCat("{\"a\":", Entry("[1]", 4, 0), "}"), 4, "do not hold");
  ExpectRefused(absl::StrCat("{\"a\":", Entry("[4294967296,4294967296]", 0, 0), "}"), 0,
                "overflow");
  ExpectRefused(absl::StrCat("{\"a\":", Entry("[9223372036854775807]", 0, 0), "}"), 0, "overflow");
  ExpectRefused(absl::StrCat("{\"a\":", Entry("[18446744073709551615]", 0, 0), "}"), 0,
                "dimension");
}

TEST(SafetensorsTest, DepthCostsNoStack) {
  ExpectRefused("{\"a\":" + std::string(5'000'000, '['), 0, "deep");
}

absl::Status ReadStatus(const TempFolder& folder, const std::string& bytes) {
  const std::string path = folder.path() + "/f.safetensors";
  WriteText(path, bytes);
  const auto file = OpenForReading(path);
  if (!file.ok()) return file.status();
  return ReadSafetensorsHeader(file->fd, path, file->bytes).status();
}

TEST(SafetensorsTest, RefusesImpossibleHeaderLengthsWithoutReadingThem) {
  const TempFolder folder;
  const auto length = [](std::uint64_t n) {
    return std::string(reinterpret_cast<const char*>(&n), sizeof n);
  };
  EXPECT_TRUE(ReadStatus(folder, length(2) + "{}").ok());
  EXPECT_THAT(std::string(ReadStatus(folder, "").message()), HasSubstr("truncated"));
  EXPECT_THAT(std::string(ReadStatus(folder, "1234567").message()), HasSubstr("truncated"));
  EXPECT_THAT(std::string(ReadStatus(folder, length(0)).message()), HasSubstr("'{'"));
  EXPECT_THAT(std::string(ReadStatus(folder, length(3) + "{}").message()),
              HasSubstr("a header of 3 bytes, but only 2"));
  EXPECT_THAT(std::string(ReadStatus(folder, length(100'000'001) + "{}").message()),
              HasSubstr("the format allows 100000000"));
  EXPECT_THAT(std::string(ReadStatus(folder, length(~0ULL) + "{}").message()),
              HasSubstr("the format allows"));
}

TEST(SafetensorsTest, WritesWhatItReads) {
  const auto formatted =
      FormatSafetensorsHeader({{.name = "a \"quoted\" \xc3\xa9", .dtype = "F32", .shape = {3}},
                               {.name = "empty", .dtype = "F32", .shape = {0}},
                               {.name = "scalar", .dtype = "F64", .shape = {}}},
                              {{"key", "value"}});
  ASSERT_TRUE(formatted.ok()) << formatted.status();
  EXPECT_EQ(formatted->bytes.size() % 8, 0U);
  EXPECT_EQ(formatted->header.data_start, formatted->bytes.size());
  const auto parsed = ParseSafetensorsHeader(formatted->bytes.substr(8), 20);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->entries.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(parsed->entries[i].name, formatted->header.entries[i].name);
    EXPECT_EQ(parsed->entries[i].begin, formatted->header.entries[i].begin);
    EXPECT_EQ(parsed->entries[i].end, formatted->header.entries[i].end);
  }
  EXPECT_EQ(parsed->metadata.at("key"), "value");
}

TEST(SafetensorsTest, TheWriterIsStrict) {
  const auto refused = [](std::vector<SafetensorsEntry> entries) {
    return FormatSafetensorsHeader(std::move(entries), {}).status().code() ==
           absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused({{.name = "", .dtype = "F32"}}));
  EXPECT_TRUE(refused({{.name = "__metadata__", .dtype = "F32"}}));
  EXPECT_TRUE(refused({{.name = "a", .dtype = "F32"}, {.name = "a", .dtype = "F32"}}));
  EXPECT_TRUE(refused({{.name = "\xff", .dtype = "F32"}}));
  EXPECT_TRUE(refused({{.name = "a", .dtype = "F33"}}));
  EXPECT_TRUE(refused({{.name = "a", .dtype = "F4", .shape = {3}}}));
  EXPECT_TRUE(refused({{.name = "a", .dtype = "F32", .shape = {-1}}}));
  EXPECT_TRUE(refused({{.name = "a", .dtype = "F32", .shape = {1LL << 40, 1LL << 40}}}));
}

}  // namespace
}  // namespace weir
