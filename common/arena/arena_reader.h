#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "common/arena/arena_format.h"
#include "common/base/bytes.h"
#include "common/base/ids.h"

namespace weir::arena {

/// Reads blocks out of a shard's memory while the shard writes to it. Never waits for the shard:
/// what cannot be had whole at once is declined.
/// Threads: any number at once. The memory is borrowed.
class Reader {
 public:
  /// A block that changes while it is copied is tried this often.
  static constexpr int kAttempts = 3;

  /// Errors: kFailedPrecondition where `memory` is not the arena of this incarnation with so many
  /// blocks.
  static absl::StatusOr<Reader> Create(MutableByteSpan memory, std::size_t blocks,
                                       Incarnation incarnation);

  /// The shard's, now.
  ViewNumber view() const;

  /// Copies the block at `position` (of Layout::blocks_of) to `to`, which is of its size, and
  /// returns the version that it is, whole. Nothing when it changed during every attempt, or the
  /// arena makes no sense; `to` is then undefined.
  std::optional<Version> Read(std::size_t position, std::span<float> to) const;

 private:
  explicit Reader(MutableByteSpan memory) : memory_(memory) {}
  Header& header() const { return *reinterpret_cast<Header*>(memory_.data()); }
  const BlockWord& word(std::size_t position) const;
  std::optional<Version> TryRead(const BlockWord& word, MutableByteSpan to) const;

  MutableByteSpan memory_;
};

}  // namespace weir::arena
