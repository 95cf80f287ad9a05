#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "worker/data/byte_buffer.h"

namespace weir {

/// Where the examples lie. Immutable and thread-safe; shared by datasets and iterators.
class ExampleStore {
 public:
  virtual ~ExampleStore() = default;
  virtual std::uint32_t examples() const = 0;
  /// Features of one example.
  virtual std::size_t features() const = 0;
  /// Writes the features of example `index` < examples() to `features` (features() of them).
  /// Returns the label.
  virtual std::int32_t Read(std::uint32_t index, std::span<float> features) const = 0;
};

/// A byte a feature and a byte a label, kept as such: a quarter of the memory of floats.
class ByteExamples final : public ExampleStore {
 public:
  /// `features.size()` is a multiple of `labels.size()`, which is not 0.
  ByteExamples(ByteBuffer features, ByteBuffer labels);
  std::uint32_t examples() const override { return static_cast<std::uint32_t>(labels_.size()); }
  std::size_t features() const override { return stride_; }
  std::int32_t Read(std::uint32_t index, std::span<float> features) const override;

 private:
  const ByteBuffer features_;
  const ByteBuffer labels_;
  const std::size_t stride_;
};

class FloatExamples final : public ExampleStore {
 public:
  /// As of ByteExamples.
  FloatExamples(std::vector<float> features, std::vector<std::int32_t> labels);
  std::uint32_t examples() const override { return static_cast<std::uint32_t>(labels_.size()); }
  std::size_t features() const override { return stride_; }
  std::int32_t Read(std::uint32_t index, std::span<float> features) const override;

 private:
  const std::vector<float> features_;
  const std::vector<std::int32_t> labels_;
  const std::size_t stride_;
};

}  // namespace weir
