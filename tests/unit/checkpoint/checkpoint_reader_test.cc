#include "common/checkpoint/checkpoint_reader.h"

#include <cstdlib>
#include <filesystem>
#include <random>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/checkpoint/checkpoint_directory.h"
#include "common/checkpoint/checkpoint_name.h"
#include "common/checkpoint/shard_file_writer.h"
#include "common/model/layout.h"
#include "common/model/tensor_name.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// Fails unless `reader` holds the sample's values in elements [offset, offset + count).
void ExpectSample(CheckpointReader& reader, std::size_t tensor, std::int64_t offset,
                  std::int64_t count) {
  const std::vector<TensorSpec> tensors = SampleTensors();
  std::vector<float> values(static_cast<std::size_t>(count), -1.0F);
  const absl::Status read = reader.ReadRange(tensors[tensor].name, offset, values);
  ASSERT_TRUE(read.ok()) << read;
  for (std::int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(values[static_cast<std::size_t>(i)], SampleValue(tensor, offset + i))
        << tensors[tensor].name << " element " << offset + i;
  }
}

/// Reads each block of another layout, as a ps of another count does.
void ExpectRestoresTo(const std::string& checkpoint, int shards) {
  auto reader = CheckpointReader::Open(checkpoint);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_TRUE(reader->Check(SampleTensors()).ok());
  const auto layout = Layout::Create(SampleTensors(), shards);
  for (const Block& block : layout->blocks()) {
    ExpectSample(*reader, block.tensor, block.offset, block.elements);
  }
}

/// Copies a checkpoint into a new one, on another number of shards.
absl::StatusOr<std::string> Reshard(const std::string& from, const std::string& model_dir,
                                    Step step, int shards) {
  auto reader = CheckpointReader::Open(from);
  if (!reader.ok()) return reader.status();
  const auto layout = Layout::Create(reader->manifest().tensors, shards);
  const std::string folder = absl::StrCat(model_dir, "/", CheckpointFolderName(step));
  std::filesystem::create_directory(folder);
  Manifest manifest = reader->manifest();
  manifest.step = step;
  manifest.shards = shards;
  manifest.files.clear();
  for (int s = 0; s < shards; ++s) {
    const ShardIndex shard(static_cast<std::uint16_t>(s));
    auto writer = ShardFileWriter::Create(folder, ShardFileName(shard, shards),
                                          PlanShardFile(*layout, shard));
    if (!writer.ok()) return writer.status();
    const auto blocks = layout->blocks_of(shard);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Block& block = layout->block(blocks[i]);
      std::vector<float> values(static_cast<std::size_t>(block.elements));
      absl::Status status = reader->ReadRange(block.tensor, block.offset, values);
      if (status.ok()) status = writer->Append(i, values);
      if (!status.ok()) return status;
    }
    auto file = writer->Finish();
    if (!file.ok()) return file.status();
    manifest.files.push_back(*std::move(file));
  }
  if (absl::Status status = WriteManifest(folder, manifest); !status.ok()) return status;
  return folder;
}

TEST(CheckpointReaderTest, RestoresToAnyNumberOfShards) {
  const TempFolder folder;
  const auto two = WriteSample(folder.path(), Step(1), 2);
  ASSERT_TRUE(two.ok()) << two.status();
  const auto three = Reshard(*two, folder.path(), Step(2), 3);
  ASSERT_TRUE(three.ok()) << three.status();
  const auto one = Reshard(*three, folder.path(), Step(3), 1);
  ASSERT_TRUE(one.ok()) << one.status();
  const auto more_than_blocks = Reshard(*one, folder.path(), Step(4), 12);
  ASSERT_TRUE(more_than_blocks.ok()) << more_than_blocks.status();
  for (const std::string& checkpoint : {*two, *three, *one, *more_than_blocks}) {
    for (int shards : {1, 2, 5}) ExpectRestoresTo(checkpoint, shards);
    EXPECT_TRUE(CheckpointReader::Open(checkpoint)->VerifyAll().ok());
  }
}

TEST(CheckpointReaderTest, ReadsAnyRange) {
  const TempFolder folder;
  const auto checkpoint = WriteSample(folder.path(), Step(1), 3);
  auto reader = CheckpointReader::Open(*checkpoint);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const std::size_t tensor = random() % SampleTensors().size();
    const std::int64_t total = SampleTensors()[tensor].elements();
    const auto offset = static_cast<std::int64_t>(random() % static_cast<std::size_t>(total + 1));
    const auto room = static_cast<std::size_t>(total - offset + 1);
    ExpectSample(*reader, tensor, offset, static_cast<std::int64_t>(random() % room));
  }
  ExpectSample(*reader, 0, 0, 180'000);
  std::vector<float> ten(10);
  EXPECT_EQ(reader->ReadRange("dense/bias", 60, ten).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(reader->ReadRange("dense/bias", -1, ten).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(reader->ReadRange("other", 0, ten).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(reader->ReadRange(std::size_t{99}, 0, ten).code(), absl::StatusCode::kNotFound);
}

TEST(CheckpointReaderTest, StillReadsAfterItWasPruned) {
  const TempFolder folder;
  const auto old = WriteSample(folder.path(), Step(1), 2);
  auto reader = CheckpointReader::Open(*old);
  ASSERT_TRUE(WriteSample(folder.path(), Step(2), 2).ok());
  ASSERT_TRUE(Prune(folder.path(), 1).ok());
  ExpectSample(*reader, 0, 0, 180'000);
}

void ExpectBad(const absl::Status& status, const std::vector<std::string>& parts) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadData) << status;
  for (const std::string& part : parts) EXPECT_THAT(std::string(status.message()), HasSubstr(part));
}

TEST(CheckpointReaderTest, RefusesAnotherModel) {
  const TempFolder folder;
  const auto checkpoint = WriteSample(folder.path(), Step(1), 2);
  const auto reader = CheckpointReader::Open(*checkpoint);
  std::vector<TensorSpec> tensors = SampleTensors();
  tensors[0].shape = {1000, 181};
  ExpectBad(reader->Check(tensors), {"'dense/kernel'", "[1000, 180]", "[1000, 181]", *checkpoint});
  tensors = SampleTensors();
  tensors.push_back({.name = "more", .shape = {2}});
  ExpectBad(reader->Check(tensors), {"lacks tensor 'more' [2]"});
  tensors = SampleTensors();
  tensors.erase(tensors.begin());
  ExpectBad(reader->Check(tensors), {"'dense/kernel'", "this job does not"});
  tensors = SampleTensors();
  std::swap(tensors[0], tensors[1]);
  EXPECT_TRUE(reader->Check(tensors).ok());
}

/// A sample checkpoint whose one shard file is to be damaged.
class DamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto written = WriteSample(folder_.path(), Step(1), 1);
    ASSERT_TRUE(written.ok()) << written.status();
    checkpoint_ = *written;
    file_ = checkpoint_ + "/shard-0-of-1.safetensors";
    text_ = ReadText(file_);
  }
  absl::Status OpenStatus() { return CheckpointReader::Open(checkpoint_).status(); }

  TempFolder folder_;
  std::string checkpoint_;
  std::string file_;
  std::string text_;
};

TEST_F(DamageTest, AFlippedByteIsFoundBeforeItIsUsed) {
  const auto manifest = ReadManifest(checkpoint_);
  text_.back() = static_cast<char>(text_.back() ^ 1);
  WriteText(file_, text_);
  auto reader = CheckpointReader::Open(checkpoint_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ExpectBad(reader->VerifyAll(), {file_, "wrong checksum: expected", "found"});
  // The last bytes are of the last block; a part of it, and all of it, are refused alike.
  const ManifestEntry last = manifest->files[0].entries[manifest->files[0].entries.size() - 2];
  std::vector<float> one(1);
  ExpectBad(reader->ReadRange(last.tensor, last.offset, one),
            {file_, QuotedName(last.tensor), absl::StrCat(absl::Hex(last.checksum))});
  std::vector<float> all(static_cast<std::size_t>(last.elements));
  ExpectBad(reader->ReadRange(last.tensor, last.offset, all), {"wrong checksum"});
  ExpectBad(reader->ReadRange(last.tensor, last.offset, all), {"wrong checksum"});
  ExpectSample(*reader, 0, 0, 10);  // the rest is sound
}

TEST_F(DamageTest, ATruncatedFileNamesBothSizes) {
  WriteText(file_, text_.substr(0, text_.size() - 3));
  ExpectBad(OpenStatus(), {file_, "truncated", absl::StrCat("expected ", text_.size()),
                           absl::StrCat("found ", text_.size() - 3)});
  WriteText(file_, text_ + "x");
  ExpectBad(OpenStatus(), {file_, "too long"});
  fs::remove(file_);
  ExpectBad(OpenStatus(), {file_, "No such file"});
  fs::create_directory(file_);
  ExpectBad(OpenStatus(), {file_, "not a regular file"});
}

TEST_F(DamageTest, AFileThatShrinksWhileOpenIsAnErrorToo) {
  auto reader = CheckpointReader::Open(checkpoint_);
  fs::resize_file(file_, text_.size() / 2);
  ExpectBad(reader->VerifyAll(), {file_, "ends at byte"});
}

TEST_F(DamageTest, AHeaderThatDisagreesWithTheManifestIsRefused) {
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = text_;
    text.replace(text.find(from), from.size(), to);
    WriteText(file_, text);
    return OpenStatus();
  };
  ExpectBad(with("dense/bias", "dense/bios"), {file_, "no entry 'dense/bias'"});
  ExpectBad(with("[3,3,1,32]", "[3,1,3,32]"), {file_, "[3, 1, 3, 32]", "[3, 3, 1, 32]"});
  ExpectBad(with("\"dense/bias\":{\"dtype\":\"F32\"", "\"dense/bias\":{\"dtype\":\"I32\""),
            {file_, "'dense/bias' is I32 [64]"});
}

constexpr char kReadBack[] = R"(
import json, struct, sys, numpy
data = open(sys.argv[1], 'rb').read()
(length,) = struct.unpack('<Q', data[:8])
header = json.loads(data[8:8 + length])
body = data[8 + length:]
for name, entry in header.items():
    begin, end = entry['data_offsets']
    values = numpy.frombuffer(body[begin:end], '<f4').reshape(entry['shape'])
    tensor, _, offset = name.partition('@')
    index = ['dense/kernel', 'dense/bias', 'scale', 'empty', 'conv "\u00e9"'].index(tensor)
    wanted = index * 1e6 + (int(offset or 0) + numpy.arange(values.size)) * 0.5
    assert (values.ravel() == wanted.astype('<f4')).all(), name
assert header['conv "\u00e9"']['shape'] == [3, 3, 1, 32] and header['scale']['shape'] == []
)";

/// Debian's numpy, for Debian's python.
bool HasNumpy() { return std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") == 0; }

int RunPython(const TempFolder& folder, const std::string& script, const std::string& argument) {
  const std::string path = folder.path() + "/script.py";
  WriteText(path, script);
  return std::system(absl::StrCat("/usr/bin/python3 ", path, " ", argument).c_str());
}

TEST_F(DamageTest, NumpyReadsTheFile) {
  if (!HasNumpy()) GTEST_SKIP() << "needs Debian's python3-numpy";
  EXPECT_EQ(RunPython(folder_, kReadBack, file_), 0);
}

/// Runs the reader that docs/checkpoints.md shows.
constexpr char kDocumented[] = R"(
import sys
CKPT = sys.argv[1]
text = open(sys.argv[2], encoding='utf-8').read()
exec(text.split('```python')[1].split('```')[0])
assert len(tensors) == 5 and tensors['dense/kernel'].shape == (1000, 180)
for index, tensor in enumerate(tensors.values()):
    wanted = index * 1e6 + numpy.arange(tensor.size) * 0.5
    assert (tensor.ravel() == wanted.astype('<f4')).all(), index
)";

TEST(DocumentedReaderTest, ReadsWhatWeirWrites) {
  if (!HasNumpy()) GTEST_SKIP() << "needs Debian's python3-numpy";
  const TempFolder folder;
  const auto checkpoint = WriteSample(folder.path(), Step(1), 3);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  const std::string arguments = absl::StrCat(*checkpoint, " ", WEIR_CHECKPOINT_DOC);
  EXPECT_EQ(RunPython(folder, absl::StrCat("import numpy", kDocumented), arguments), 0);
}

}  // namespace
}  // namespace weir
