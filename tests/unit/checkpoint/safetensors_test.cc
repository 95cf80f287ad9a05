#include "common/checkpoint/safetensors.h"

#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
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

TEST(SafetensorsTest, RefusesABrokenStructure) {
  ExpectRefused("", 0, "'{'");
  ExpectRefused(" {}", 0, "'{'");
  ExpectRefused("[]", 0, "'{'");
  ExpectRefused("{\"a\":", 0, "is not JSON");
  ExpectRefused("{} x", 0, "is not JSON");
  ExpectRefused(std::string("{}\0 x", 5), 0, "zero byte");
  ExpectRefused("{\"a\":1}", 0, "not an object");
  ExpectRefused("{\"a\":{}}", 0, "dtype");
  ExpectRefused("{\"\xff\":{}}", 0, "is not JSON");
  ExpectRefused("{\"__metadata__\":{\"a\":1}}", 0, "not a string");
  ExpectRefused("{\"__metadata__\":[]}", 0, "not an object");
  ExpectRefused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "offsets");
  ExpectRefused("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4,
                "dimension");
  ExpectRefused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4,
                "dimension");
  ExpectRefused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 4, "offsets");
  ExpectRefused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4,
                "keys");
  ExpectRefused("{\"a\":{\"dtype\":\"F32\",\"shape\":[[1]],\"data_offsets\":[0,4]}}", 4, "deep");
}

TEST(SafetensorsTest, RefusesDuplicateNames) {
  ExpectRefused(absl::StrCat("{\"a\":", Entry("[1]", 0, 4), ",\"a\":", Entry("[1]", 4, 8), "}"), 8,
                "key \"a\" stands twice");
}

TEST(SafetensorsTest, NamesAnUnknownDtype) {
  ExpectRefused(absl::StrCat("{\"a\":", Entry("[2]", 0, 1, "F4"), "}"), 1, "dtype 'F4'");
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
  EXPECT_TRUE(refused({{.name = "a", .dtype = "F32", .shape = {-1}}}));
  EXPECT_TRUE(refused({{.name = "a", .dtype = "F32", .shape = {1LL << 40, 1LL << 40}}}));
}

}  // namespace
}  // namespace weir
