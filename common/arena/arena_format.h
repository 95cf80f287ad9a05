#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::arena {

// A shard's memory as other processes on its host see it: the header, one word a block (in the
// order of Layout::blocks_of), and the slots that the words point into. Native byte order.
//
// The shard's owner thread writes all of it but `bytes_read`. Nothing enforces that, since it
// is mapped read-write: whoever has the key is trusted.

inline constexpr std::uint64_t kMagic = 0x616e'6572'6172'6977;  // "wirarena", read as bytes
inline constexpr std::uint32_t kFormat = 1;
inline constexpr std::size_t kCacheLine = 64;

/// No view that anybody has.
inline constexpr std::uint32_t kClosed = 0xffff'ffff;

struct Header {
  std::uint64_t magic = kMagic;
  std::uint32_t format = kFormat;
  std::uint32_t blocks = 0;
  std::uint64_t incarnation = 0;  ///< of the ps
  /// The shard's view, published before any answer of that view; kClosed once it has stopped.
  std::atomic<std::uint32_t> view{0};
  /// What readers took, for the shard's statistics alone. A line of its own: readers write it.
  alignas(kCacheLine) std::atomic<std::uint64_t> bytes_read{0};
};
static_assert(sizeof(Header) == 2 * kCacheLine);

/// Where a block's values are, and of which version they are: a seqlock.
struct BlockWord {
  /// Twice the version, plus one while its values or its place change. Stored with release after
  /// the values: who loads an even number with acquire, copies, and then finds the same number, has
  /// that version whole.
  std::atomic<std::uint64_t> sequence{0};
  std::atomic<std::uint64_t> offset{0};  ///< of its values, in bytes from the header's start
};
static_assert(sizeof(BlockWord) == 16);
// Processes share them, so no lock could stand in.
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Where the first slot is.
constexpr std::size_t SlotsOffset(std::size_t blocks) {
  return sizeof(Header) + (blocks * sizeof(BlockWord) + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace weir::arena
