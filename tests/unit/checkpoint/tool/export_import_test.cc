#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_directory.h"
#include "common/checkpoint/checkpoint_name.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/model_dir.h"
#include "common/checkpoint/safetensors_file.h"
#include "common/checkpoint/tool/diff.h"
#include "common/checkpoint/tool/export.h"
#include "common/checkpoint/tool/import.h"
#include "common/checkpoint/tool/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"
#include "tests/unit/checkpoint/tool/tensor_file.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void ExpectRefused(const absl::Status& status, ExitCode code,
                   const std::vector<std::string>& parts) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(ExitCodeOf(status), code) << status;
  for (const std::string& part : parts) EXPECT_THAT(std::string(status.message()), HasSubstr(part));
}

class ExportImportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto written = WriteSample(folder_.path(), Step(12), 3);
    ASSERT_TRUE(written.ok()) << written.status();
    checkpoint_ = *written;
    file_ = folder_.path() + "/all.safetensors";
    other_ = folder_.path() + "/other/model";
  }
  absl::Status Export(bool overwrite = false) {
    return ExportCheckpoint(checkpoint_, file_, {.overwrite = overwrite, .weir_version = "1.2"})
        .status();
  }
  absl::StatusOr<Imported> Import(const ImportOptions& options = {}) {
    return ImportSafetensors(file_, other_, options);
  }

  TempFolder folder_;
  std::string checkpoint_;
  std::string file_;
  std::string other_;  ///< a model directory that is not there yet
};

TEST_F(ExportImportTest, AnExportIsOneFileOfWholeTensors) {
  const auto bytes = ExportCheckpoint(checkpoint_, file_, {.weir_version = "1.2"});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, fs::file_size(file_));
  const auto file = SafetensorsFile::Open(file_);
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : file->header().entries) names.push_back(entry.name);
  EXPECT_THAT(names,
              ElementsAre("conv \"\xc3\xa9\"", "dense/bias", "dense/kernel", "empty", "scale"));
  EXPECT_THAT(file->header().entries[2].shape, ElementsAre(1000, 180));
  EXPECT_THAT(file->header().metadata,
              ElementsAre(std::pair("job", "sample"), std::pair("step", "12"),
                          std::pair("weir_version", "1.2")));
  EXPECT_EQ(file->header().data_start % 8, 0U);
}

TEST_F(ExportImportTest, TheSameWeightsGiveTheSameBytes) {
  ASSERT_TRUE(Export().ok());
  const TempFolder elsewhere;
  const auto resharded = WriteSample(elsewhere.path(), Step(12), 1);
  const std::string again = elsewhere.path() + "/again.safetensors";
  ASSERT_TRUE(ExportCheckpoint(*resharded, again, {.weir_version = "1.2"}).ok());
  EXPECT_EQ(ReadText(file_), ReadText(again));
}

TEST_F(ExportImportTest, AnExportReplacesNothingUnasked) {
  WriteText(file_, "mine");
  ExpectRefused(Export(), ExitCode::kBadUsage, {file_, "--force"});
  EXPECT_EQ(ReadText(file_), "mine");
  EXPECT_TRUE(Export(true).ok());
  fs::remove(file_);
  fs::create_directory(file_);
  ExpectRefused(Export(true), ExitCode::kBadUsage, {file_, "no file"});
  file_ = folder_.path() + "/none/all.safetensors";
  ExpectRefused(Export(), ExitCode::kBadUsage, {"none"});
}

TEST_F(ExportImportTest, AnExportOfACorruptCheckpointLeavesNothing) {
  const std::string shard = checkpoint_ + "/shard-1-of-3.safetensors";
  std::string text = ReadText(shard);
  text.back() = static_cast<char>(text.back() ^ 1);
  WriteText(shard, text);
  ExpectRefused(Export(), ExitCode::kBadData, {shard, "wrong checksum"});
  EXPECT_THAT(folder_.Names(), ElementsAre("step-00000012"));
}

TEST_F(ExportImportTest, WhatWasExportedComesBack) {
  ASSERT_TRUE(Export().ok());
  const auto imported = Import({.model = SampleTensors()});
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->checkpoint, other_ + "/step-00000012");
  EXPECT_EQ(imported->parameters, 180'353);
  const auto newest = NewestCheckpoint(other_);
  EXPECT_EQ((*newest)->step, Step(12));
  EXPECT_EQ(VerifyPath(imported->checkpoint).problem_count, 0U);
  const auto reader = CheckpointReader::Open(imported->checkpoint);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE(reader->Check(SampleTensors()).ok());
  EXPECT_EQ(reader->manifest().job, "sample");
  EXPECT_EQ(reader->manifest().shards, 1);
  EXPECT_FALSE(reader->manifest().is_final);
  for (const std::string& one : {file_, checkpoint_}) {
    const auto found = ComparePaths(one, imported->checkpoint);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->equal, 5U);
  }
}

TEST_F(ExportImportTest, AnImportIsAlwaysTheNewest) {
  ASSERT_TRUE(Export().ok());
  ASSERT_TRUE(Import({.step = 20}).ok());
  for (const std::uint64_t step : {20, 19, 0}) {
    ExpectRefused(Import({.step = step}).status(), ExitCode::kBadUsage,
                  {other_, "step-00000020", "higher --step"});
  }
  ExpectRefused(Import().status(), ExitCode::kBadUsage, {"step-00000020"});
  // What a run that died left there is in nobody's way.
  const std::string left = absl::StrCat(other_, "/", CheckpointFolderName(Step(21)));
  fs::create_directory(left);
  WriteText(left + "/shard-1-of-2.safetensors", "half");
  ASSERT_TRUE(Import({.step = 21}).ok());
  EXPECT_THAT(folder_.Names(left), ElementsAre("manifest.json", "shard-0-of-1.safetensors"));
}

TEST_F(ExportImportTest, ADirectoryInUseIsLeftAlone) {
  ASSERT_TRUE(Export().ok());
  ASSERT_TRUE(CheckWritable(other_).ok());
  const auto claim = ClaimModelDir(other_);
  ASSERT_TRUE(claim.ok());
  ExpectRefused(Import().status(), ExitCode::kBadUsage, {other_, "in use"});
  EXPECT_TRUE(ListCheckpoints(other_)->empty());
}

TEST_F(ExportImportTest, RefusesWhatCannotBeRestored) {
  WriteTensorFile(file_, {{"a", "F32", {1}, BytesOf<float>({1})},
                          {"b", "BF16", {2}, "1234"},
                          {"c", "I64", {1}, "12345678"}});
  ExpectRefused(Import().status(), ExitCode::kBadData, {"'b' is BF16, 'c' is I64", "leave"});
  ExpectRefused(Import({.convert = true}).status(), ExitCode::kBadData, {": 'c' is I64"});
  WriteTensorFile(file_, {{"b", "BF16", {2}, "1234"}});
  ExpectRefused(Import().status(), ExitCode::kBadData, {"--convert"});
  WriteTensorFile(file_, {{"a@4", "F32", {1}, BytesOf<float>({1})}});
  ExpectRefused(Import().status(), ExitCode::kBadData, {"'a@4'"});
  WriteTensorFile(file_, {});
  ExpectRefused(Import().status(), ExitCode::kBadData, {"no tensor"});
  WriteTensorFile(file_, {{"a", "F32", {1}, BytesOf<float>({1})}}, {{"step", "last"}});
  ExpectRefused(Import().status(), ExitCode::kBadData, {"'last'", "--step"});
  EXPECT_TRUE(Import({.step = 3}).ok());
  WriteText(file_, "12345678{}");
  ExpectRefused(Import().status(), ExitCode::kBadData, {file_});
}

TEST_F(ExportImportTest, NamesTheTensorOfAnotherModel) {
  ASSERT_TRUE(Export().ok());
  std::vector<TensorSpec> model = SampleTensors();
  model[1].shape = {65};
  ExpectRefused(Import({.job = "j", .model = model}).status(), ExitCode::kBadData,
                {"job j", "'dense/bias'", "[64]", "[65]"});
  EXPECT_FALSE(fs::exists(other_));
}

TEST_F(ExportImportTest, ConvertsWhenToldTo) {
  WriteTensorFile(file_, {{"half", "F16", {2}, BytesOf<std::uint16_t>({0x3c00, 0xc100})},
                          {"brain", "BF16", {2}, BytesOf<std::uint16_t>({0x3f80, 0xc020})},
                          {"double", "F64", {2}, BytesOf<double>({1, -2.5})}});
  const auto imported = Import({.convert = true});
  ASSERT_TRUE(imported.ok()) << imported.status();
  auto reader = CheckpointReader::Open(imported->checkpoint);
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (const char* name : {"half", "brain", "double"}) {
    std::vector<float> values(2);
    ASSERT_TRUE(reader->ReadRange(name, 0, values).ok());
    EXPECT_THAT(values, ElementsAre(1, -2.5F)) << name;
  }
}

TEST_F(ExportImportTest, AFolderThatCannotBeMadeIsAnError) {
  ASSERT_TRUE(Export().ok());
  fs::create_directories(other_);
  WriteText(other_ + "/step-00000012", "");
  EXPECT_FALSE(Import().ok());
  EXPECT_TRUE(ListCheckpoints(other_)->empty());
  EXPECT_TRUE(fs::is_regular_file(other_ + "/step-00000012"));
}

}  // namespace
}  // namespace weir
