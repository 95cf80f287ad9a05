#include "ps_server/logic/block_store.h"

#include <cassert>
#include <limits>
#include <memory>

#include "common/base/racy_copy.h"

namespace weir::ps {
namespace {

constexpr std::uint32_t kNotOwned = std::numeric_limits<std::uint32_t>::max();
using arena::kCacheLine;

std::size_t HomeBytes(const Block& block) {
  return (static_cast<std::size_t>(block.bytes()) + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Of the header and the words.
std::size_t ArenaBytes(std::size_t blocks) { return blocks == 0 ? 0 : arena::SlotsOffset(blocks); }

float* At(MutableByteSpan memory, std::size_t offset) {
  return reinterpret_cast<float*>(memory.data() + offset);
}

}  // namespace

std::size_t BlockStore::BytesNeeded(const Layout& layout, ShardIndex shard, int spares) {
  std::size_t bytes = static_cast<std::size_t>(spares) * kMaxBlockBytes +
                      ArenaBytes(layout.blocks_of(shard).size());
  for (BlockId id : layout.blocks_of(shard)) bytes += HomeBytes(layout.block(id));
  return bytes;
}

BlockStore::BlockStore(const Layout& layout, ShardIndex shard, int spares, MutableByteSpan memory)
    : memory_(memory.data()),
      blocks_(layout.blocks_of(shard)),
      index_of_(layout.blocks().size(), kNotOwned) {
  assert(memory.size() >= BytesNeeded(layout, shard, spares));
  assert(reinterpret_cast<std::uintptr_t>(memory.data()) % kCacheLine == 0);
  if (!blocks_.empty()) {
    header_ = new (memory_) arena::Header{.blocks = static_cast<std::uint32_t>(blocks_.size())};
    auto* words = reinterpret_cast<arena::BlockWord*>(memory_ + sizeof(arena::Header));
    std::uninitialized_default_construct_n(words, blocks_.size());
    words_ = {words, blocks_.size()};
  }
  std::size_t offset = ArenaBytes(blocks_.size());
  for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = layout.block(blocks_[i]);
    index_of_[blocks_[i].value()] = i;
    places_.push_back({.home = i, .current = i, .next = i, .elements = block.elements});
    slots_.push_back({.data = At(memory, offset), .pins = 0, .live = true});
    words_[i].offset.store(offset, std::memory_order_relaxed);
    offset += HomeBytes(block);
  }
  homes_ = static_cast<std::uint32_t>(slots_.size());
  for (int i = 0; i < spares; ++i) {
    free_spares_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.push_back({.data = At(memory, offset), .pins = 0, .live = false});
    offset += kMaxBlockBytes;
  }
}

bool BlockStore::owns(BlockId block) const {
  return block.value() < index_of_.size() && index_of_[block.value()] != kNotOwned;
}

std::size_t BlockStore::position(BlockId block) const {
  assert(owns(block));
  return index_of_[block.value()];
}

std::span<const float> BlockStore::values(BlockId block) const {
  const Place& p = place(block);
  return {slots_[p.current].data, static_cast<std::size_t>(p.elements)};
}

Version BlockStore::version(BlockId block) const {
  return Version(words_[position(block)].sequence.load(std::memory_order_relaxed) / 2);
}

std::span<float> BlockStore::InitialValues(BlockId block) {
  const Place& p = place(block);
  assert(slots_[p.current].pins == 0);
  return {slots_[p.current].data, static_cast<std::size_t>(p.elements)};
}

BlockPin BlockStore::Pin(BlockId block) {
  const Place& p = place(block);
  ++slots_[p.current].pins;
  return {.slot = p.current, .values = values(block)};
}

void BlockStore::Unpin(BlockPin pin) {
  assert(pin.slot < slots_.size() && slots_[pin.slot].pins > 0);
  --slots_[pin.slot].pins;
  FreeIfSpare(pin.slot);
}

std::optional<BlockStore::Update> BlockStore::BeginUpdate(BlockId block) {
  Place& p = place(block);
  if (slots_[p.home].pins == 0) {
    // Home again as soon as it can be, so that the spares serve others.
    p.next = p.home;
  } else if (slots_[p.current].pins == 0) {
    p.next = p.current;
  } else if (!free_spares_.empty()) {
    p.next = free_spares_.back();
    free_spares_.pop_back();
  } else {
    return std::nullopt;
  }
  std::atomic<std::uint64_t>& sequence = words_[position(block)].sequence;
  if (p.next == p.current) {
    sequence.store(sequence.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // Whoever sees a byte of what is written now sees this sequence, and also what moved the slot's
  // last block away from it, where it is another slot.
  RacyWriteFence();
  return Update{.from = values(block),
                .to = {slots_[p.next].data, static_cast<std::size_t>(p.elements)}};
}

void BlockStore::CommitUpdate(BlockId block) {
  Place& p = place(block);
  arena::BlockWord& word = words_[position(block)];
  const std::uint64_t next = 2 * (version(block).value() + 1);
  if (p.next == p.current) return word.sequence.store(next, std::memory_order_release);
  word.sequence.store(next - 1, std::memory_order_relaxed);
  RacyWriteFence();
  // Release also under ThreadSanitizer, which has no fence: the odd sequence comes first.
  word.offset.store(OffsetOf(p.next), std::memory_order_release);
  word.sequence.store(next, std::memory_order_release);
  slots_[p.current].live = false;
  slots_[p.next].live = true;
  const std::uint32_t old = p.current;
  p.current = p.next;
  FreeIfSpare(old);
}

void BlockStore::Identify(Incarnation incarnation) {
  if (header_ != nullptr) header_->incarnation = incarnation.value();
}

void BlockStore::PublishView(ViewNumber view) {
  if (header_ != nullptr) header_->view.store(view.value(), std::memory_order_release);
}

std::uint64_t BlockStore::bytes_read() const {
  return header_ == nullptr ? 0 : header_->bytes_read.load(std::memory_order_relaxed);
}

std::size_t BlockStore::OffsetOf(std::uint32_t slot) const {
  return static_cast<std::size_t>(reinterpret_cast<std::byte*>(slots_[slot].data) - memory_);
}

int BlockStore::free_spares() const { return static_cast<int>(free_spares_.size()); }

BlockStore::Place& BlockStore::place(BlockId block) { return places_[position(block)]; }

const BlockStore::Place& BlockStore::place(BlockId block) const { return places_[position(block)]; }

void BlockStore::FreeIfSpare(std::uint32_t slot) {
  if (slot < homes_ || slots_[slot].live || slots_[slot].pins > 0) return;
  free_spares_.push_back(slot);
}

}  // namespace weir::ps
