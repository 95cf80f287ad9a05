#include "weir/dataset.h"

#include <array>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/data/batches.h"
#include "tests/unit/data/idx_writer.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool Even(std::span<const float>, std::int32_t label) { return label % 2 == 0; }
bool Never(std::span<const float>, std::int32_t) { return false; }

TEST(DatasetTest, BatchesInOrderWithARemainder) {
  EXPECT_THAT(LabelsOfBatches(Numbers(5).Batch(2)),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
  EXPECT_THAT(LabelsOfBatches(Numbers(5).Batch(2, true)),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(LabelsOfBatches(Numbers(4).Batch(4)), ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST(DatasetTest, GivesFeaturesRowByRow) {
  const auto iterator = Numbers(3).Batch(2).CreateIterator();
  ASSERT_TRUE(iterator.ok());
  auto batch = (*iterator)->Next();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_EQ((*batch)->size, 2);
  EXPECT_THAT((*batch)->features, ElementsAre(0, 0, 1, -1));
  batch = (*iterator)->Next();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_EQ((*batch)->size, 1);
  EXPECT_THAT((*batch)->features, ElementsAre(2, -2));
  for (int i = 0; i < 3; ++i) {
    batch = (*iterator)->Next();
    EXPECT_TRUE(batch.ok() && !batch->has_value());
  }
}

TEST(DatasetTest, ConvertsBytesToFloats) {
  const TemporaryFolder folder;
  WriteGzip(folder / "i.gz", IdxImagesOf(70, 2, 2));
  WriteGzip(folder / "l.gz", IdxLabelsOf(70));
  const auto dataset = Dataset::FromIdx(folder / "i.gz", folder / "l.gz");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->feature_shape(), ElementsAre(2, 2));
  EXPECT_EQ(dataset->size(), 70);
  const auto iterator = dataset->Batch(70).CreateIterator();
  ASSERT_TRUE(iterator.ok());
  const auto batch = (*iterator)->Next();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  for (std::size_t i = 0; i < 280; ++i) EXPECT_EQ((*batch)->features[i], i % 256) << i;
  for (std::size_t i = 0; i < 70; ++i) EXPECT_EQ((*batch)->labels[i], i % 10) << i;
}

TEST(DatasetTest, MapsApplyInOrder) {
  const Dataset dataset = Numbers(2)
                              .Map([](std::span<float> features, std::int32_t& label) {
                                for (float& value : features) value += 1;
                                label += 10;
                              })
                              .Map([](std::span<float> features, std::int32_t& label) {
                                for (float& value : features) value *= 2;
                                label *= 2;
                                return absl::OkStatus();
                              });
  const auto iterator = dataset.Batch(2).CreateIterator();
  ASSERT_TRUE(iterator.ok());
  const auto batch = (*iterator)->Next();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_THAT((*batch)->features, ElementsAre(2, 2, 4, 0));
  EXPECT_THAT((*batch)->labels, ElementsAre(20, 22));
}

TEST(DatasetTest, AMapErrorEndsTheIterator) {
  const Dataset dataset = Numbers(6).Map([](std::span<float>, std::int32_t& label) {
    return label == 3 ? absl::DataLossError("three") : absl::OkStatus();
  });
  for (const bool filtered : {false, true}) {
    const Dataset stream =
        filtered ? dataset.Filter([](std::span<const float>, std::int32_t) { return true; })
                 : dataset;
    const auto iterator = stream.Batch(2).CreateIterator();
    ASSERT_TRUE(iterator.ok());
    EXPECT_THAT(LabelsOfBatches(**iterator, 1), ElementsAre(ElementsAre(0, 1)));
    for (int i = 0; i < 3; ++i) EXPECT_EQ((*iterator)->Next().status().message(), "three");
  }
}

TEST(DatasetTest, FilterSeesTheMapsBeforeItOnly) {
  const auto add_one = [](std::span<float> features, std::int32_t& label) {
    features[0] += 1;
    ++label;
  };
  const auto first_even = [](std::span<const float> features, std::int32_t label) {
    EXPECT_EQ(features[0], static_cast<float>(label));
    return label % 2 == 0;
  };
  EXPECT_THAT(LabelsOf(Numbers(6).Map(add_one).Filter(first_even)), ElementsAre(2, 4, 6));
  EXPECT_THAT(LabelsOf(Numbers(6).Filter(first_even).Map(add_one)), ElementsAre(1, 3, 5));
  EXPECT_EQ(Numbers(6).Filter(first_even).size(), std::nullopt);
}

TEST(DatasetTest, ShuffleIsAPermutation) {
  for (const int buffer : {1, 2, 7, 100, 1000}) {
    const auto labels = LabelsOf(Numbers(100).Shuffle(buffer, 1));
    EXPECT_EQ(Sorted(labels), Range(0, 100)) << buffer;
    // The example that comes out as number i is among the first i + buffer.
    for (int i = 0; i < 100; ++i) EXPECT_LT(labels[i], i + buffer);
    EXPECT_EQ(labels == Range(0, 100), buffer == 1);
  }
}

TEST(DatasetTest, ShuffleIsUniform) {
  // 3000 permutations of 4: each example comes in each place 750 times, standard deviation 24.
  std::array<std::array<int, 4>, 4> counts{};
  const auto labels = LabelsOf(Numbers(4).Shuffle(4, 9).Repeat(3000), 12000);
  ASSERT_EQ(labels.size(), 12000U);
  for (std::size_t i = 0; i < labels.size(); ++i) ++counts[i % 4][labels[i]];
  for (const auto& row : counts) {
    for (const int count : row) EXPECT_NEAR(count, 750, 120);
  }
}

TEST(DatasetTest, ShuffleDependsOnTheSeedAlone) {
  const Dataset dataset = Numbers(50);
  EXPECT_EQ(LabelsOf(dataset.Shuffle(50, 7)), LabelsOf(dataset.Shuffle(50, 7)));
  EXPECT_NE(LabelsOf(dataset.Shuffle(50, 7)), LabelsOf(dataset.Shuffle(50, 8)));
  // The same on every platform: a resumed or a remote job must see the same order.
  EXPECT_THAT(LabelsOf(Numbers(8).Shuffle(8, 7)), ElementsAre(3, 0, 5, 2, 1, 6, 4, 7));
}

TEST(DatasetTest, EachPassHasItsOwnOrder) {
  const auto labels = LabelsOf(Numbers(50).Shuffle(50, 7).Repeat(3));
  ASSERT_EQ(labels.size(), 150U);
  std::vector<std::vector<int>> passes;
  for (int pass = 0; pass < 3; ++pass) {
    passes.emplace_back(labels.begin() + 50 * pass, labels.begin() + 50 * (pass + 1));
    EXPECT_EQ(Sorted(passes.back()), Range(0, 50));
  }
  EXPECT_NE(passes[0], passes[1]);
  EXPECT_NE(passes[1], passes[2]);
  EXPECT_NE(passes[0], passes[2]);
}

TEST(DatasetTest, ShuffleAfterRepeatMixesPasses) {
  const auto labels = LabelsOf(Numbers(10).Repeat(2).Shuffle(20, 3));
  auto twice = Range(0, 10);
  twice.insert(twice.end(), twice.begin(), twice.begin() + 10);
  EXPECT_EQ(Sorted(labels), Sorted(twice));
  EXPECT_NE(Sorted({labels.begin(), labels.begin() + 10}), Range(0, 10));
}

TEST(DatasetTest, RepeatRunsAcrossBatches) {
  EXPECT_THAT(LabelsOfBatches(Numbers(3).Repeat(2).Batch(2)),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 0), ElementsAre(1, 2)));
  EXPECT_THAT(LabelsOf(Numbers(3).Repeat(), 7), ElementsAre(0, 1, 2, 0, 1, 2, 0));
  EXPECT_THAT(LabelsOf(Numbers(2).Repeat(2).Repeat(2)), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
}

TEST(DatasetTest, RepeatOfNothingEnds) {
  EXPECT_THAT(LabelsOf(Numbers(10).Filter(Never).Repeat()), IsEmpty());
  EXPECT_THAT(LabelsOf(Numbers(10).Filter(Never).Shuffle(5, 1).Repeat().Repeat().Shuffle(9, 1)),
              IsEmpty());
  EXPECT_THAT(LabelsOfBatches(Numbers(10).Filter(Never).Repeat().Batch(4, true).Prefetch(1)),
              IsEmpty());
}

TEST(DatasetTest, ShardsPartition) {
  for (const int examples : {7, 10, 12}) {
    std::vector<int> all;
    for (int index = 0; index < 3; ++index) {
      const Dataset share = Numbers(examples).Shard(3, index);
      const auto labels = LabelsOf(share);
      EXPECT_EQ(share.size(), std::ssize(labels));
      for (std::size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(labels[i], index + 3 * i);
      all.insert(all.end(), labels.begin(), labels.end());
    }
    EXPECT_EQ(Sorted(all), Range(0, examples));
  }
  EXPECT_THAT(LabelsOf(Numbers(10).Filter(Even).Shard(2, 1).Repeat(2)), ElementsAre(2, 6, 2, 6));
  EXPECT_THAT(LabelsOf(Numbers(8).Shard(2, 1).Shard(2, 1)), ElementsAre(3, 7));
}

TEST(DatasetTest, ShardsOfOneShuffleArePartsOfThatOrder) {
  const auto order = LabelsOf(Numbers(20).Shuffle(20, 4));
  for (int index = 0; index < 2; ++index) {
    const auto labels = LabelsOf(Numbers(20).Shuffle(20, 4).Shard(2, index));
    ASSERT_EQ(labels.size(), 10U);
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(labels[i], order[2 * i + index]);
  }
}

TEST(DatasetTest, DescriptionsAreIndependent) {
  const Dataset base = Numbers(4);
  const Dataset odd = base.Shard(2, 1);
  EXPECT_THAT(LabelsOf(base), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(LabelsOf(odd), ElementsAre(1, 3));
  const auto first = base.Batch(2).CreateIterator();
  const auto second = base.Batch(2).CreateIterator();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_THAT(LabelsOfBatches(**first, 1), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(LabelsOfBatches(**second, 2), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

std::string UsageError(const Dataset& dataset) {
  const absl::Status status = dataset.CreateIterator().status();
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kBadUsage) << status;
  return std::string(status.message());
}

TEST(DatasetTest, ABatchLargerThanTheDataSetNamesBothNumbers) {
  EXPECT_THAT(UsageError(Numbers(10).Batch(11)),
              AllOf(HasSubstr("batch size 11"), HasSubstr("has 10 examples")));
  EXPECT_THAT(UsageError(Numbers(10).Shuffle(10, 1).Repeat().Batch(11, true).Prefetch(2)),
              AllOf(HasSubstr("batch size 11"), HasSubstr("has 10 examples")));
  EXPECT_THAT(
      UsageError(Numbers(10).Shard(3, 1).Batch(4)),
      AllOf(HasSubstr("batch size 4"), HasSubstr("shard 1 of 3"), HasSubstr("has 3 examples")));
  EXPECT_THAT(UsageError(Numbers(2).Shard(3, 2).Batch(1)), HasSubstr("has 0 examples"));
  EXPECT_FALSE(Numbers(10).Batch(11).status().ok());
  EXPECT_TRUE(Numbers(10).Batch(10).status().ok());
}

TEST(DatasetTest, RefusesIllegalOrdersAndArguments) {
  const Dataset data = Numbers(10);
  EXPECT_THAT(UsageError(data), HasSubstr("without Batch"));
  EXPECT_THAT(UsageError(data.Batch(2).Batch(2)), HasSubstr("second Batch"));
  EXPECT_THAT(UsageError(data.Batch(2).Shuffle(3, 1)), HasSubstr("Shuffle must come before Batch"));
  EXPECT_THAT(UsageError(data.Batch(2).Repeat()), HasSubstr("Repeat must come before Batch"));
  EXPECT_THAT(UsageError(data.Repeat().Filter(Never).Batch(2)),
              HasSubstr("Filter must come before Repeat"));
  EXPECT_THAT(UsageError(data.Repeat().Shard(2, 0).Batch(2)),
              HasSubstr("Shard must come before Repeat"));
  EXPECT_THAT(UsageError(data.Prefetch(1)), HasSubstr("Prefetch must come after Batch"));
  EXPECT_THAT(UsageError(data.Batch(2).Prefetch(1).Prefetch(1)), HasSubstr("called twice"));
  EXPECT_THAT(UsageError(data.Batch(2).Prefetch(0)), HasSubstr("Prefetch(0)"));
  EXPECT_THAT(UsageError(data.Batch(0)), HasSubstr("batch size 0"));
  EXPECT_THAT(UsageError(data.Repeat(0).Batch(1)), HasSubstr("Repeat(0)"));
  EXPECT_THAT(UsageError(data.Shuffle(0, 1).Batch(1)), HasSubstr("buffer of 0"));
  EXPECT_THAT(UsageError(data.Shard(2, 2).Batch(1)), HasSubstr("Shard 2 of 2"));
  EXPECT_THAT(UsageError(data.Map(MapFunction()).Batch(1)), HasSubstr("without a function"));
  // The first mistake stays.
  EXPECT_THAT(UsageError(data.Repeat(0).Batch(0)), HasSubstr("Repeat(0)"));
}

TEST(DatasetTest, FromVectorsChecksSizes) {
  EXPECT_THAT(Dataset::FromVectors({1, 2, 3}, {0, 1}, {2}).status().message(),
              AllOf(HasSubstr("3 feature values"), HasSubstr("expected 4")));
  EXPECT_EQ(ExitCodeOf(Dataset::FromVectors({}, {}, {2}).status()), ExitCode::kBadUsage);
  EXPECT_FALSE(Dataset::FromVectors({}, {0}, {0}).ok());
  EXPECT_FALSE(Dataset::FromVectors({}, {0}, {1LL << 40, 1LL << 40}).ok());
  EXPECT_TRUE(Dataset::FromVectors({1, 2}, {0, 1}, {}).ok());
}

}  // namespace
}  // namespace weir
