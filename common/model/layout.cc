#include "common/model/layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"

namespace weir {
namespace {

absl::StatusOr<std::vector<Block>> CutIntoBlocks(std::span<const TensorSpec> tensors) {
  std::vector<Block> blocks;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::int64_t total = tensors[t].elements();
    for (std::int64_t offset = 0; offset < total; offset += kMaxBlockElements) {
      if (blocks.size() >= std::numeric_limits<std::uint32_t>::max()) {
        return absl::InvalidArgumentError("the model has more than 2^32 blocks");
      }
      blocks.push_back({.id = BlockId(static_cast<std::uint32_t>(blocks.size())),
                        .tensor = t,
                        .offset = offset,
                        .elements = std::min(kMaxBlockElements, total - offset),
                        .shard = ShardIndex(0)});
    }
  }
  return blocks;
}

void PlaceLargestFirst(std::vector<Block>& blocks, int shards) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return blocks[a].elements > blocks[b].elements; });
  using Load = std::pair<std::int64_t, int>;  // bytes, shard
  std::vector<Load> heap;
  for (int s = 0; s < shards; ++s) heap.emplace_back(0, s);
  for (std::size_t i : order) {
    std::ranges::pop_heap(heap, std::greater<>{});
    Load& least = heap.back();
    blocks[i].shard = ShardIndex(static_cast<std::uint16_t>(least.second));
    least.first += blocks[i].bytes();
    std::ranges::push_heap(heap, std::greater<>{});
  }
}

std::uint64_t Fingerprint(std::span<const TensorSpec> tensors, std::span<const Block> blocks) {
  std::string text;
  for (const TensorSpec& t : tensors) {
    absl::StrAppend(&text, t.name.size(), ":", t.name, "/", static_cast<int>(t.dtype), "/",
                    static_cast<int>(t.initializer));
    for (std::int64_t d : t.shape) absl::StrAppend(&text, ",", d);
    text += ';';
  }
  for (const Block& b : blocks) {
    absl::StrAppend(&text, b.tensor, "@", b.offset, "+", b.elements, ">", b.shard.value(), ";");
  }
  return Checksum(std::as_bytes(std::span(text)));
}

}  // namespace

absl::StatusOr<Layout> Layout::Create(std::vector<TensorSpec> tensors, int shards) {
  WEIR_RETURN_IF_ERROR(ValidateTensors(tensors));
  if (shards < 1 || shards > std::numeric_limits<std::uint16_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a layout needs 1 to 65535 shards, not ", shards));
  }
  Layout layout;
  layout.tensors_ = std::move(tensors);
  WEIR_ASSIGN_OR_RETURN(layout.blocks_, CutIntoBlocks(layout.tensors_));
  PlaceLargestFirst(layout.blocks_, shards);
  layout.by_shard_.resize(static_cast<std::size_t>(shards));
  for (const Block& block : layout.blocks_) {
    layout.by_shard_[block.shard.value()].push_back(block.id);
    layout.elements_ += block.elements;
  }
  layout.fingerprint_ = Fingerprint(layout.tensors_, layout.blocks_);
  return layout;
}

std::int64_t Layout::bytes_of(ShardIndex shard) const {
  std::int64_t bytes = 0;
  for (BlockId id : blocks_of(shard)) bytes += block(id).bytes();
  return bytes;
}

}  // namespace weir
