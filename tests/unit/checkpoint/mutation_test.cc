// Random damage to valid files: whatever is read, reading must end in a Status, never in a crash or
// in bytes from outside the file (the sanitizers watch).

#include <filesystem>
#include <random>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/manifest.h"
#include "common/checkpoint/safetensors.h"
#include "gtest/gtest.h"
#include "tests/unit/checkpoint/mutate.h"
#include "tests/unit/checkpoint/sample_checkpoint.h"

namespace weir {
namespace {

constexpr int kMutations = 2000;

class MutationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto written = WriteSample(folder_.path(), Step(1), 2);
    ASSERT_TRUE(written.ok()) << written.status();
    checkpoint_ = *written;
  }

  /// Opens the checkpoint and reads everything in it, if it lets us.
  void ReadAll() {
    auto reader = CheckpointReader::Open(checkpoint_);
    if (!reader.ok()) return;
    ++opened_;
    const std::vector<TensorSpec>& tensors = reader->manifest().tensors;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      ASSERT_LE(tensors[t].elements(), 1'000'000) << "more than the files hold";
      std::vector<float> values(static_cast<std::size_t>(tensors[t].elements()));
      const absl::Status read = reader->ReadRange(t, 0, values);
      if (!read.ok()) ++refused_;
    }
  }

  TempFolder folder_;
  std::string checkpoint_;
  int opened_ = 0;
  int refused_ = 0;
};

TEST_F(MutationTest, OfManifests) {
  const std::string path = checkpoint_ + "/manifest.json";
  const std::string valid = ReadText(path);
  for (int seed = 0; seed < kMutations; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    WriteText(path, Mutate(valid, random));
    ReadAll();
  }
  // Else it tested nothing beyond the parser: some damage only shows in a checksum, or not at all.
  EXPECT_GT(opened_, 0);
  EXPECT_GT(refused_, 0);
}

TEST_F(MutationTest, OfSafetensorsHeaders) {
  const std::string path = checkpoint_ + "/shard-0-of-2.safetensors";
  const std::string valid = ReadText(path);
  std::uint64_t length = 0;
  std::memcpy(&length, valid.data(), sizeof length);
  const std::string data = valid.substr(8 + length);
  for (int seed = 0; seed < kMutations; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    const std::string header = Mutate(valid.substr(8, length), random);
    // Mostly with a length that fits, so that the damage reaches the JSON; and in the parser alone,
    // which no file size stops.
    std::uint64_t claimed = header.size();
    if (random() % 8 == 0) claimed ^= std::uint64_t{1} << random() % 64;
    std::string text(reinterpret_cast<const char*>(&claimed), sizeof claimed);
    text += header;
    text += data;
    text.resize(valid.size());  // the manifest's size, so that it is read on
    WriteText(path, text);
    ReadAll();
    if (const auto parsed = ParseSafetensorsHeader(header, data.size()); parsed.ok()) {
      EXPECT_EQ(parsed->data_bytes(), data.size());
    }
  }
  EXPECT_GT(opened_, 0);
}

}  // namespace
}  // namespace weir
