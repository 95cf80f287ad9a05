#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "weir/batch.h"
#include "worker/data/example_reader.h"
#include "worker/data/index_stream.h"

namespace weir {

/// The memory of one batch.
class BatchBuffer {
 public:
  BatchBuffer(std::size_t batch_size, std::size_t features)
      : features_(features), values_(batch_size * features), labels_(batch_size) {}

  std::span<float> row(std::size_t example) {
    return std::span(values_).subspan(example * features_, features_);
  }
  std::span<std::int32_t> labels() { return labels_; }
  /// The first `size` examples, borrowed.
  Batch First(std::size_t size) const {
    return {static_cast<int>(size), std::span(values_).first(size * features_),
            std::span(labels_).first(size)};
  }

 private:
  std::size_t features_;
  std::vector<float> values_;
  std::vector<std::int32_t> labels_;
};

/// Makes batches in place in the caller's buffers. One thread at a time.
class Batcher {
 public:
  Batcher(IndexStreamPtr indices, ExampleReader reader, std::size_t batch_size,
          bool drop_remainder);

  BatchBuffer NewBuffer() const { return {batch_size_, reader_.features()}; }
  /// Fills `buffer` with the next batch; returns its size, 0 at the end.
  absl::StatusOr<std::size_t> Fill(BatchBuffer& buffer);

 private:
  IndexStreamPtr indices_;
  ExampleReader reader_;
  std::size_t batch_size_;
  bool drop_remainder_;
};

}  // namespace weir
