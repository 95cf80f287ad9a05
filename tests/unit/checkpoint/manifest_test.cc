#include "common/checkpoint/manifest.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Manifest Small() {
  return {.job = "fashion-mnist",
          .step = Step(1200),
          .is_final = true,
          .created = absl::FromUnixSeconds(1'700'000'000),
          .tensors = {{.name = "w", .shape = {10}}, {.name = "none", .shape = {0}}},
          .shards = 2,
          .files = {{"shard-0-of-2.safetensors",
                     500,
                     {{"w", 0, 6, 0x0123456789abcdef}, {"none", 0, 0, 1}},
                     {3, 4}},
                    {"shard-1-of-2.safetensors", 400, {{"w", 6, 4, 7}}, {}}},
          .optimizer = "sgd",
          .optimizer_slots = {"momentum"},
          .chief = Incarnation(42)};
}

std::string SmallText() { return FormatManifest(Small()).value(); }

/// The error of the small manifest with `from` replaced by `to`.
std::string ErrorOf(const std::string& from, const std::string& to) {
  const std::string text = SmallText();
  EXPECT_TRUE(absl::StrContains(text, from)) << from;
  const auto parsed = ParseManifest(absl::StrReplaceAll(text, {{from, to}}));
  EXPECT_FALSE(parsed.ok()) << from << " -> " << to;
  return std::string(parsed.status().message());
}

TEST(ManifestTest, RoundTrips) {
  const auto parsed = ParseManifest(SmallText());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(FormatManifest(*parsed).value(), SmallText());
  EXPECT_EQ(parsed->step, Step(1200));
  EXPECT_TRUE(parsed->is_final);
  EXPECT_EQ(parsed->created, absl::FromUnixSeconds(1'700'000'000));
  EXPECT_EQ(parsed->files[0].entries[0].checksum, 0x0123456789abcdefU);
  EXPECT_THAT(parsed->files[0].worker_clocks, ElementsAre(3, 4));
  EXPECT_THAT(parsed->optimizer_slots, ElementsAre("momentum"));
  EXPECT_EQ(parsed->chief, Incarnation(42));
}

// A golden file of version 1: later versions must go on reading it.
TEST(ManifestTest, ReadsVersionOneAsItWasFirstWritten) {
  const auto parsed = ParseManifest(R"({
    "format": "weir-checkpoint", "version": 1, "job": "j", "step": 7, "final": false,
    "created": "2023-11-14T22:13:20Z", "optimizer": {"name": "sgd", "slots": []}, "shards": 1,
    "tensors": [{"name": "w", "dtype": "F32", "shape": [2, 2]}],
    "files": [{"file": "shard-0-of-1.safetensors", "bytes": 100,
               "entries": [{"tensor": "w", "offset": 0, "elements": 4,
                            "checksum": "00000000000000ff"}]}],
    "added later": {"deep": [1, {"x": null}]}})");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->tensors[0].shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(parsed->files[0].entries[0].checksum, 255U);
}

TEST(ManifestTest, ChecksEveryField) {
  EXPECT_THAT(ErrorOf("weir-checkpoint", "other"), HasSubstr("format: expected"));
  EXPECT_THAT(ErrorOf("\"version\": 1", "\"version\": 2"), HasSubstr("found version 2"));
  EXPECT_THAT(ErrorOf("\"version\": 1", "\"version\": 0"), HasSubstr("version: expected 1"));
  EXPECT_THAT(ErrorOf("\"version\": 1", "\"version\": \"1\""), HasSubstr("version: expected"));
  EXPECT_THAT(ErrorOf("\"job\": \"fashion-mnist\"", "\"job\": 3"),
              HasSubstr("job: expected a string, found 3"));
  EXPECT_THAT(ErrorOf("\"step\": 1200", "\"step\": -1"), HasSubstr("step: expected"));
  EXPECT_THAT(ErrorOf("\"step\": 1200", "\"step\": 1.5"), HasSubstr("found 1.5"));
  EXPECT_THAT(ErrorOf("\"step\": 1200", "\"stop\": 1200"), HasSubstr("found nothing"));
  EXPECT_THAT(ErrorOf("\"final\": true", "\"final\": 1"),
              HasSubstr("final: expected true or false"));
  EXPECT_THAT(ErrorOf("2023-11-14T22", "yesterday"), HasSubstr("created: expected a time"));
  EXPECT_THAT(ErrorOf("\"shards\": 2", "\"shards\": 0"), HasSubstr("shards"));
  EXPECT_THAT(ErrorOf("\"shards\": 2", "\"shards\": 1"), HasSubstr("2 files of 1 shards"));
  EXPECT_THAT(ErrorOf("\"shards\": 2", "\"shards\": 65536"), HasSubstr("shards: expected"));
  EXPECT_THAT(ErrorOf("\"slots\": [\"momentum\"]", "\"slots\": [1]"), HasSubstr("optimizer.slots"));
  EXPECT_THAT(ErrorOf("\"dtype\": \"F32\"", "\"dtype\": \"F16\""), HasSubstr("tensors[0].dtype"));
  EXPECT_THAT(ErrorOf("\"shape\": [10]", "\"shape\": [-10]"), HasSubstr("tensors[0].shape"));
  EXPECT_THAT(ErrorOf("\"shape\": [10]", "\"shape\": [4611686018427387904]"),
              HasSubstr("overflow"));
  EXPECT_THAT(ErrorOf("\"name\": \"none\"", "\"name\": \"w\""), HasSubstr("two tensors"));
  EXPECT_THAT(ErrorOf("0123456789abcdef", "0123456789abcde"),
              HasSubstr("files[0].entries[0].checksum"));
  EXPECT_THAT(ErrorOf("0123456789abcdef", "0123456789ABCDEF"), HasSubstr("lower case"));
  EXPECT_THAT(ErrorOf("\"bytes\": 400", "\"bytes\": 20"), HasSubstr("cannot hold its entries"));
  EXPECT_THAT(ErrorOf("\"worker_clocks\": [3, 4]", "\"worker_clocks\": [3, 4294967296]"),
              HasSubstr("files[0].worker_clocks"));
  EXPECT_THAT(ErrorOf("\"final\": true", "\"final\": true, \"final\": false"),
              HasSubstr("key \"final\" stands twice"));
}

TEST(ManifestTest, RefusesFilesOutsideItsFolder) {
  const std::string name = "shard-0-of-2.safetensors";
  for (const char* bad : {"../x.safetensors", "/etc/x.safetensors", "a/b.safetensors", "", "..",
                          ".hidden.safetensors", "a\\u0000.safetensors", "manifest.json"}) {
    EXPECT_THAT(ErrorOf(name, bad), HasSubstr("beside the manifest")) << bad;
  }
  EXPECT_THAT(ErrorOf(name, "shard-1-of-2.safetensors"), HasSubstr("listed twice"));
}

TEST(ManifestTest, EntriesMustCoverEachTensorExactly) {
  const std::string first = "\"offset\": 0, \"elements\": 6";
  const std::string second = "\"offset\": 6, \"elements\": 4";
  EXPECT_THAT(ErrorOf(second, "\"offset\": 7, \"elements\": 3"), HasSubstr("elements 6 to 6"));
  EXPECT_THAT(ErrorOf(second, "\"offset\": 6, \"elements\": 3"), HasSubstr("elements 9 to 9"));
  EXPECT_THAT(ErrorOf(first, "\"offset\": 1, \"elements\": 5"), HasSubstr("elements 0 to 0"));
  EXPECT_THAT(ErrorOf(second, "\"offset\": 5, \"elements\": 5"),
              HasSubstr("two entries hold element 5"));
  EXPECT_THAT(ErrorOf(second, "\"offset\": 6, \"elements\": 5"), HasSubstr("which has 10"));
  EXPECT_THAT(ErrorOf(second, "\"offset\": 9223372036854775807, \"elements\": 1"),
              HasSubstr("which has 10"));
  EXPECT_THAT(ErrorOf(second, "\"offset\": 6, \"elements\": 0"), HasSubstr("without elements"));
  EXPECT_THAT(ErrorOf("\"tensor\": \"none\"", "\"tensor\": \"gone\""), HasSubstr("not listed"));
  Manifest missing = Small();
  missing.files[0].entries.pop_back();
  EXPECT_THAT(std::string(FormatManifest(missing).status().message()),
              HasSubstr("tensor 'none' is in no file"));
}

TEST(ManifestTest, DeepAndHugeTextsAreRefused) {
  EXPECT_FALSE(ParseManifest(std::string(5'000'000, '[')).ok());
  std::string nested;
  for (int i = 0; i < 1'000'000; ++i) nested += "{\"a\":";
  EXPECT_THAT(std::string(ParseManifest(nested).status().message()), HasSubstr("deep"));
  for (const char* text : {"", "null", "[]", "1", "{}", "{\"format\":{}}", "\xff\xfe"}) {
    EXPECT_FALSE(ParseManifest(text).ok()) << text;
  }
}

TEST(ManifestFileTest, NamesTheFileAndExitsWithThree) {
  const TempFolder folder;
  const auto missing = ReadManifest(folder.path());
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ExitCodeOf(missing.status()), ExitCode::kBadData);
  ASSERT_TRUE(WriteManifest(folder.path(), Small()).ok());
  EXPECT_TRUE(ReadManifest(folder.path()).ok());
  EXPECT_THAT(folder.Names(), ElementsAre("manifest.json"));

  WriteText(folder.path() + "/manifest.json", SmallText().substr(0, 200));
  const auto torn = ReadManifest(folder.path());
  EXPECT_EQ(torn.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ExitCodeOf(torn.status()), ExitCode::kBadData);
  EXPECT_THAT(std::string(torn.status().message()), HasSubstr(folder.path() + "/manifest.json"));
}

TEST(ManifestFileTest, AFolderOfAnotherStepIsRefused) {
  const TempFolder folder;
  const std::string other = folder.path() + "/step-00000007";
  std::filesystem::create_directory(other);
  ASSERT_TRUE(WriteManifest(other, Small()).ok());
  EXPECT_THAT(std::string(ReadManifest(other).status().message()), HasSubstr("of step 1200"));
}

TEST(ManifestFileTest, AHugeFileIsNotRead) {
  const TempFolder folder;
  const std::string path = folder.path() + "/manifest.json";
  WriteText(path, "{");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);  // sparse
  const auto huge = ReadManifest(folder.path());
  EXPECT_THAT(std::string(huge.status().message()), HasSubstr("at most"));
  EXPECT_EQ(ExitCodeOf(huge.status()), ExitCode::kBadData);
}

}  // namespace
}  // namespace weir
