#include "common/arena/arena_reader.h"

#include <cassert>

#include "absl/strings/str_cat.h"
#include "common/base/racy_copy.h"

namespace weir::arena {

absl::StatusOr<Reader> Reader::Create(MutableByteSpan memory, std::size_t blocks,
                                      Incarnation incarnation) {
  const Reader reader(memory);
  if (memory.size() < SlotsOffset(blocks) || reader.header().magic != kMagic ||
      reader.header().format != kFormat || reader.header().blocks != blocks ||
      reader.header().incarnation != incarnation.value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("memory of ", memory.size(), " bytes is not this ps's arena of ", blocks,
                     " blocks"));
  }
  return reader;
}

ViewNumber Reader::view() const {
  return ViewNumber(header().view.load(std::memory_order_acquire));
}

const BlockWord& Reader::word(std::size_t position) const {
  assert(position < header().blocks);
  return reinterpret_cast<const BlockWord*>(memory_.data() + sizeof(Header))[position];
}

std::optional<Version> Reader::Read(std::size_t position, std::span<float> to) const {
  const MutableByteSpan bytes = std::as_writable_bytes(to);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (const auto version = TryRead(word(position), bytes)) {
      header().bytes_read.fetch_add(bytes.size(), std::memory_order_relaxed);
      return version;
    }
  }
  return std::nullopt;
}

std::optional<Version> Reader::TryRead(const BlockWord& word, MutableByteSpan to) const {
  // Acquire: the values of this version are seen, or newer ones.
  const std::uint64_t before = word.sequence.load(std::memory_order_acquire);
  if (before % 2 != 0) return std::nullopt;
  const std::uint64_t offset = word.offset.load(std::memory_order_relaxed);
  if (offset > memory_.size() || to.size() > memory_.size() - offset) return std::nullopt;
  RacyRead(to, memory_.subspan(offset, to.size()));
  // A byte of a later write, or a later offset, was read after its odd sequence was stored.
  RacyReadFence();
  if (word.sequence.load(std::memory_order_relaxed) != before) return std::nullopt;
  return Version(before / 2);
}

}  // namespace weir::arena
