#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "weir/dataset.h"

namespace weir {

/// Examples 0 .. n - 1: example i has the features [i, -i] and the label i.
inline Dataset Numbers(int n) {
  std::vector<float> features;
  std::vector<std::int32_t> labels(static_cast<std::size_t>(n));
  std::iota(labels.begin(), labels.end(), 0);
  for (const std::int32_t label : labels) {
    features.push_back(static_cast<float>(label));
    features.push_back(static_cast<float>(-label));
  }
  auto dataset = Dataset::FromVectors(std::move(features), std::move(labels), {2});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *std::move(dataset);
}

/// The labels of each of the next `limit` batches, or of fewer where the iterator ends.
inline std::vector<std::vector<int>> LabelsOfBatches(BatchIterator& iterator, int limit) {
  std::vector<std::vector<int>> batches;
  while (std::ssize(batches) < limit) {
    const auto batch = iterator.Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || !batch->has_value()) break;
    EXPECT_EQ(std::ssize((*batch)->labels), (*batch)->size);
    batches.emplace_back((*batch)->labels.begin(), (*batch)->labels.end());
  }
  return batches;
}

inline std::vector<std::vector<int>> LabelsOfBatches(const Dataset& dataset, int limit = 10000) {
  const auto iterator = dataset.CreateIterator();
  EXPECT_TRUE(iterator.ok()) << iterator.status();
  if (!iterator.ok()) return {};
  return LabelsOfBatches(**iterator, limit);
}

/// The labels of the first `limit` examples of a dataset that has no Batch yet.
inline std::vector<int> LabelsOf(const Dataset& dataset, int limit = 10000) {
  std::vector<int> labels;
  for (const auto& batch : LabelsOfBatches(dataset.Batch(1), limit)) labels.push_back(batch.at(0));
  return labels;
}

inline std::vector<int> Sorted(std::vector<int> values) {
  std::ranges::sort(values);
  return values;
}

/// first, first + 1, .. last - 1.
inline std::vector<int> Range(int first, int last) {
  std::vector<int> values(static_cast<std::size_t>(last - first));
  std::iota(values.begin(), values.end(), first);
  return values;
}

}  // namespace weir
