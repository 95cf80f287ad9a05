#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/arena/arena_format.h"
#include "common/base/bytes.h"
#include "common/base/ids.h"
#include "common/model/layout.h"

namespace weir::ps {

/// Names one version of one block's bytes while somebody reads them.
struct BlockPin {
  std::uint32_t slot = 0;
  std::span<const float> values;
};

/// Where a shard's blocks lie, so that nothing ever writes to bytes that a send or a checkpoint is
/// reading: each block has a home slot; an update of a block whose slot is pinned is written to
/// another slot, and the block lives there until its home is free again.
///
/// The memory is given (registered, in the shipping server); this class only divides it, into what
/// common/arena describes: other processes read versions and values there, unasked, and notice by
/// the versions what was written meanwhile. A shard without blocks has no arena.
/// Threading: one owner. Pins may be read by other threads until they are released by the owner;
/// arena::Reader may read at any time.
class BlockStore {
 public:
  /// Bytes that `Create` needs for these blocks and `spares` slots of kMaxBlockBytes.
  static std::size_t BytesNeeded(const Layout& layout, ShardIndex shard, int spares);

  /// `memory` is 64-byte aligned, of at least BytesNeeded, and outlives the store.
  BlockStore(const Layout& layout, ShardIndex shard, int spares, MutableByteSpan memory);

  bool owns(BlockId block) const;
  /// Of an owned block, in layout.blocks_of(shard).
  std::size_t position(BlockId block) const;
  std::span<const float> values(BlockId block) const;
  /// Updates committed so far.
  Version version(BlockId block) const;
  /// For filling in first values, before anything is pinned.
  std::span<float> InitialValues(BlockId block);

  BlockPin Pin(BlockId block);
  void Unpin(BlockPin pin);

  /// Where the next values of `block` are to be written: `from` may equal `to` (in place). Empty
  /// when the current slot is pinned and neither home nor a spare is free: nothing has changed
  /// then. An update that was begun must be written (by RacyWrite: readers may be about) and
  /// committed.
  struct Update {
    std::span<const float> from;
    std::span<float> to;
  };
  std::optional<Update> BeginUpdate(BlockId block);
  /// Makes `to` the block's values, of the next version.
  void CommitUpdate(BlockId block);

  int free_spares() const;

  // What readers of the arena see; nothing happens for a shard without blocks.
  /// Before the first of them maps it.
  void Identify(Incarnation incarnation);
  void PublishView(ViewNumber view);
  /// Nobody is to read any more: the shard stops. Those who have it mapped ask by message then.
  void Close() { PublishView(ViewNumber(arena::kClosed)); }
  /// Bytes that they took, as they say.
  std::uint64_t bytes_read() const;

 private:
  struct Slot {
    float* data = nullptr;
    std::uint32_t pins = 0;
    bool live = false;  // holds the current values of a block
  };
  struct Place {
    std::uint32_t home = 0;
    std::uint32_t current = 0;
    std::uint32_t next = 0;
    std::int64_t elements = 0;
  };
  Place& place(BlockId block);
  const Place& place(BlockId block) const;
  void FreeIfSpare(std::uint32_t slot);
  std::size_t OffsetOf(std::uint32_t slot) const;

  std::byte* memory_;
  arena::Header* header_ = nullptr;      // null without blocks
  std::span<arena::BlockWord> words_;    // by position in blocks_
  std::span<const BlockId> blocks_;      // of the layout; ascending
  std::vector<std::uint32_t> index_of_;  // by block id of the whole layout
  std::vector<Place> places_;            // by position in blocks_
  std::vector<Slot> slots_;              // homes first, then spares
  std::uint32_t homes_ = 0;
  std::vector<std::uint32_t> free_spares_;
};

}  // namespace weir::ps
