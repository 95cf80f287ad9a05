#include <filesystem>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "gtest/gtest.h"
#include "weir/dataset.h"

namespace weir {
namespace {

const std::string kFolder = "/usr/share/datasets/fashion-mnist/";

class FashionMnistTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder)) {
      GTEST_SKIP() << kFolder << " is missing: apt-get install dataset-fashion-mnist";
    }
  }
  static Dataset Read(const std::string& part) {
    const absl::Time start = MonotonicNow();
    auto dataset = Dataset::FromIdx(kFolder + part + "-images-idx3-ubyte.gz",
                                    kFolder + part + "-labels-idx1-ubyte.gz");
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    RecordProperty(part + "_read_ms", absl::ToInt64Milliseconds(MonotonicNow() - start));
    return *std::move(dataset);
  }
};

TEST_F(FashionMnistTest, HasItsKnownShapeAndBalance) {
  for (const auto& [part, examples] : {std::pair("train", 60000), std::pair("t10k", 10000)}) {
    const Dataset dataset = Read(part);
    EXPECT_EQ(dataset.size(), examples);
    EXPECT_EQ(dataset.feature_shape(), (std::vector<std::int64_t>{28, 28}));
    const auto iterator = dataset.Batch(1000).CreateIterator();
    ASSERT_TRUE(iterator.ok());
    std::vector<int> classes(10);
    double pixels = 0;
    for (int seen = 0; seen < examples; seen += 1000) {
      const auto batch = (*iterator)->Next();
      ASSERT_TRUE(batch.ok() && batch->has_value());
      for (const std::int32_t label : (*batch)->labels) ++classes.at(label);
      for (const float pixel : (*batch)->features) pixels += pixel;
    }
    EXPECT_EQ(classes, std::vector<int>(10, examples / 10));
    // The means that everybody quotes: 0.2860 and 0.2868 of 255.
    EXPECT_NEAR(pixels / (examples * 784.0) / 255, 0.2864, 0.0006);
  }
}

TEST_F(FashionMnistTest, TheTutorialsInputFunction) {
  const Dataset dataset = Read("train")
                              .Shard(2, 1)
                              .Map([](std::span<float> features, std::int32_t&) {
                                for (float& pixel : features) pixel /= 255;
                              })
                              .Shuffle(10000, 1)
                              .Repeat()
                              .Batch(256)
                              .Prefetch(2);
  const auto iterator = dataset.CreateIterator();
  ASSERT_TRUE(iterator.ok()) << iterator.status();
  for (int i = 0; i < 300; ++i) {
    const auto batch = (*iterator)->Next();
    ASSERT_TRUE(batch.ok() && batch->has_value());
    ASSERT_EQ((*batch)->size, 256);
    for (const float pixel : (*batch)->features) ASSERT_TRUE(pixel >= 0 && pixel <= 1);
  }
}

}  // namespace
}  // namespace weir
