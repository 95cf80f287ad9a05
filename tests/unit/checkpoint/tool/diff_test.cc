#include "common/checkpoint/tool/diff.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include "common/checkpoint/tool/export.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"
#include "tests/unit/checkpoint/tool/tensor_file.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = TensorDifference::Kind;

TEST(DiffTest, ShardsAndFormDoNotMatter) {
  const TempFolder folder;
  const auto two = WriteSample(folder.path(), Step(1), 2);
  const auto five = WriteSample(folder.path(), Step(2), 5);
  const std::string file = folder.path() + "/all.safetensors";
  ASSERT_TRUE(ExportCheckpoint(*two, file, {.weir_version = "test"}).ok());
  for (const auto& [a, b] : {std::pair(*two, *five), {*five, file}, {file, *two}, {file, file}}) {
    const auto found = ComparePaths(a, b);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->equal, 5U);
    EXPECT_THAT(found->differences, IsEmpty());
    EXPECT_EQ(ReportOn(*found, ReportFormat::kText).text, "equal: 5 tensors equal bit for bit\n");
  }
}

class DiffFilesTest : public ::testing::Test {
 protected:
  Comparison Compare(const std::vector<TestTensor>& a, const std::vector<TestTensor>& b) {
    WriteTensorFile(folder_.path() + "/a.safetensors", a);
    WriteTensorFile(folder_.path() + "/b.safetensors", b);
    const auto found =
        ComparePaths(folder_.path() + "/a.safetensors", folder_.path() + "/b.safetensors");
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(Comparison());
  }
  TempFolder folder_;
};

TEST_F(DiffFilesTest, NamesWhatOnlyOneHasAndWhatIsOfAnotherType) {
  const Comparison found = Compare({{"a", "F32", {1}, BytesOf<float>({1})},
                                    {"shape", "F32", {1, 2}, BytesOf<float>({1, 2})},
                                    {"same", "U8", {2}, "xy"},
                                    {"dtype", "F32", {1}, BytesOf<float>({0})}},
                                   {{"same", "U8", {2}, "xy"},
                                    {"z", "I8", {1}, "1"},
                                    {"shape", "F32", {2, 1}, BytesOf<float>({1, 2})},
                                    {"dtype", "I32", {1}, BytesOf<int>({0})}});
  EXPECT_EQ(found.equal, 1U);
  ASSERT_EQ(found.differences.size(), 4U);
  EXPECT_EQ(found.differences[0].kind, Kind::kOnlyInA);
  EXPECT_EQ(found.differences[1].kind, Kind::kType);
  EXPECT_EQ(found.differences[2].kind, Kind::kType);
  EXPECT_EQ(found.differences[3].kind, Kind::kOnlyInB);
  const std::string text = ReportOn(found, ReportFormat::kText).text;
  EXPECT_THAT(text, HasSubstr("a      only in A: F32 [1]"));
  EXPECT_THAT(text, HasSubstr("F32 [1] in A, I32 [1] in B"));
  EXPECT_THAT(text, HasSubstr("F32 [1, 2] in A, F32 [2, 1] in B"));
  EXPECT_THAT(text, HasSubstr("z      only in B: I8 [1]"));
  EXPECT_THAT(text, HasSubstr("1 tensor equal bit for bit, 4 not"));
  const json machine = json::parse(ReportOn(found, ReportFormat::kJson).text);
  EXPECT_EQ(machine["equal"], false);
  EXPECT_EQ(machine["differences"][0]["kind"], "only_in_a");
  EXPECT_EQ(machine["differences"][0]["b"], nullptr);
}

TEST_F(DiffFilesTest, MeasuresDistances) {
  const Comparison found = Compare({{"t", "F32", {4}, BytesOf<float>({3, 0, 4, 1})}},
                                   {{"t", "F32", {4}, BytesOf<float>({3, 3, 0, 1})}});
  ASSERT_EQ(found.differences.size(), 1U);
  ASSERT_TRUE(found.differences[0].distance.has_value());
  const Distance& distance = *found.differences[0].distance;
  EXPECT_EQ(distance.elements, 4U);
  EXPECT_EQ(distance.different, 2U);
  EXPECT_EQ(distance.max_abs, 4);
  EXPECT_EQ(distance.l2, 5);
  EXPECT_DOUBLE_EQ(distance.relative.value_or(-1), 5 / std::sqrt(26.0));
  EXPECT_THAT(ReportOn(found, ReportFormat::kText).text,
              HasSubstr("2 of 4 elements differ, max abs 4, L2 5 (relative 0.981)"));
}

TEST_F(DiffFilesTest, EqualMeansBitForBit) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Compare({{"t", "F32", {2}, BytesOf<float>({kNan, kInf})}},
                    {{"t", "F32", {2}, BytesOf<float>({kNan, kInf})}})
                .equal,
            1U);
  const Comparison found = Compare({{"t", "F32", {4}, BytesOf<float>({0, kNan, kInf, -kInf})}},
                                   {{"t", "F32", {4}, BytesOf<float>({-0.0F, 1, kInf, kInf})}});
  ASSERT_EQ(found.differences.size(), 1U);
  const Distance& distance = *found.differences[0].distance;
  EXPECT_EQ(distance.different, 3U);
  EXPECT_EQ(distance.no_distance, 2U);
  EXPECT_EQ(distance.max_abs, 0);
  EXPECT_FALSE(distance.relative.has_value());
  const json machine = json::parse(ReportOn(found, ReportFormat::kJson).text);
  EXPECT_EQ(machine["differences"][0]["relative"], nullptr);
}

TEST_F(DiffFilesTest, OtherDtypesAreComparedByTheirBytes) {
  const Comparison found = Compare({{"t", "BF16", {2}, "abcd"}}, {{"t", "BF16", {2}, "abce"}});
  ASSERT_EQ(found.differences.size(), 1U);
  EXPECT_FALSE(found.differences[0].distance.has_value());
  EXPECT_THAT(ReportOn(found, ReportFormat::kText).text, HasSubstr("BF16 [2]: other values"));
}

TEST_F(DiffFilesTest, FindsOneElementAmongManyChunks) {
  std::vector<float> values(700'001, 0.5F);
  const std::string before = BytesOf(values);
  values[700'000] = 0.75F;
  const Comparison found =
      Compare({{"t", "F32", {700'001}, before}}, {{"t", "F32", {700'001}, BytesOf(values)}});
  ASSERT_EQ(found.differences.size(), 1U);
  EXPECT_EQ(found.differences[0].distance->different, 1U);
  EXPECT_EQ(found.differences[0].distance->max_abs, 0.25);
}

TEST_F(DiffFilesTest, WhatCannotBeReadIsAnError) {
  WriteText(folder_.path() + "/a.safetensors", "no");
  EXPECT_EQ(ExitCodeOf(ComparePaths(folder_.path() + "/a.safetensors", folder_.path()).status()),
            ExitCode::kBadData);
  EXPECT_EQ(ExitCodeOf(ComparePaths(folder_.path(), folder_.path() + "/none").status()),
            ExitCode::kBadData);
}

}  // namespace
}  // namespace weir
