#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "weir/dataset.h"
#include "worker/data/example_reader.h"

namespace weir {

/// The numbers of the examples to deliver, in order: what Shuffle, Filter, Repeat and Shard are
/// about. Allocates in its constructor only. One thread at a time.
class IndexStream {
 public:
  virtual ~IndexStream() = default;
  /// The next number, or nullopt at the end of a pass.
  virtual absl::StatusOr<std::optional<std::uint32_t>> Next() = 0;
  /// Begins another pass.
  virtual void Restart() = 0;
};

using IndexStreamPtr = std::unique_ptr<IndexStream>;

/// 0, 1, .. examples - 1.
IndexStreamPtr CountStream(std::uint32_t examples);
/// Every `count`-th of a pass, beginning with the `index`-th.
IndexStreamPtr ShardStream(IndexStreamPtr from, std::int64_t count, std::int64_t index);
/// Those whose examples `predicate` keeps.
IndexStreamPtr FilterStream(IndexStreamPtr from, ExampleReader reader, FilterFunction predicate);
/// In random order, drawn from `buffer` <= 2^32 - 1 at a time. The generator runs on through
/// Restart, so each pass has its own order.
IndexStreamPtr ShuffleStream(IndexStreamPtr from, std::uint32_t buffer, std::uint64_t seed);
/// `count` passes as one; -1: until a pass is empty.
IndexStreamPtr RepeatStream(IndexStreamPtr from, std::int64_t count);

}  // namespace weir
