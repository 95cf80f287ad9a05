#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/ids.h"
#include "weir/tensor_spec.h"

namespace weir {

/// A payload of one block is one message on every path; 224 KiB stays below the 240 KB up to which
/// eager active messages are the fastest over TCP.
inline constexpr std::int64_t kMaxBlockBytes = 224 * 1024;
inline constexpr std::int64_t kMaxBlockElements = kMaxBlockBytes / 4;

/// A run of elements of one tensor: the unit of placement, versioning, exactly-once and checkpoint.
struct Block {
  BlockId id;
  std::size_t tensor;     ///< index into Layout::tensors()
  std::int64_t offset;    ///< first element within the tensor
  std::int64_t elements;  ///< 1 .. kMaxBlockElements
  ShardIndex shard;       ///< its owner
  std::int64_t bytes() const { return elements * 4; }
};

/// What every member must agree on: tensors, their blocks, and who owns which. Immutable.
class Layout {
 public:
  /// Cuts `tensors` into blocks and places them over `servers` (>= 1), the ps: largest block first,
  /// onto the ps with the fewest bytes, the lowest index among equals; and what each ps got in the
  /// same way over its `threads` (>= 1), a shard each. Deterministic; shards may be left empty; a
  /// tensor without elements has no block.
  /// Errors: kInvalidArgument as ValidateTensors, or without or with over 65535 shards, or with
  ///   over 2^32 blocks.
  static absl::StatusOr<Layout> Create(std::vector<TensorSpec> tensors, int servers,
                                       int threads = 1);

  std::span<const TensorSpec> tensors() const { return tensors_; }
  std::span<const Block> blocks() const { return blocks_; }
  const Block& block(BlockId id) const { return blocks_[id.value()]; }
  int shards() const { return static_cast<int>(by_shard_.size()); }
  /// Shards of each ps: those of ps p are p * threads() and the next ones.
  int threads() const { return threads_; }
  int servers() const { return shards() / threads_; }
  int server_of(ShardIndex shard) const { return shard.value() / threads_; }
  int thread_of(ShardIndex shard) const { return shard.value() % threads_; }
  ShardIndex shard_of(int server, int thread) const {
    return ShardIndex(static_cast<std::uint16_t>(server * threads_ + thread));
  }
  /// The blocks of one shard, by ascending id.
  std::span<const BlockId> blocks_of(ShardIndex shard) const { return by_shard_[shard.value()]; }
  std::int64_t bytes_of(ShardIndex shard) const;
  std::int64_t elements() const { return elements_; }
  /// Equal for equal tensors on equal ps; differs, almost surely, for others. The initializers are
  /// part of it; the threads are not: they change nothing about which ps has a block.
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  Layout() = default;
  std::vector<TensorSpec> tensors_;
  std::vector<Block> blocks_;
  std::vector<std::vector<BlockId>> by_shard_;
  int threads_ = 1;
  std::int64_t elements_ = 0;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace weir
