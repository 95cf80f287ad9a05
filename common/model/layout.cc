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

// By descending size, then ascending id.
std::vector<std::size_t> LargestFirst(std::span<const Block> blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return blocks[a].elements > blocks[b].elements; });
  return order;
}

/// Gives out places from `first` on, each time the one with the fewest bytes.
class LeastLoaded {
 public:
  LeastLoaded(int first, int places) {
    for (int p = 0; p < places; ++p) heap_.emplace_back(0, first + p);
  }
  ShardIndex Take(std::int64_t bytes) {
    std::ranges::pop_heap(heap_, std::greater<>{});
    Load& least = heap_.back();
    const int place = least.second;
    least.first += bytes;
    std::ranges::push_heap(heap_, std::greater<>{});
    return ShardIndex(static_cast<std::uint16_t>(place));
  }

 private:
  using Load = std::pair<std::int64_t, int>;  // bytes, place
  std::vector<Load> heap_;
};

// Afterwards `shard` of each block is its ps.
void PlaceOnServers(std::vector<Block>& blocks, std::span<const std::size_t> order, int servers) {
  LeastLoaded loads(0, servers);
  for (std::size_t i : order) blocks[i].shard = loads.Take(blocks[i].bytes());
}

void PlaceOnThreads(std::vector<Block>& blocks, std::span<const std::size_t> order, int servers,
                    int threads) {
  std::vector<LeastLoaded> loads;
  for (int s = 0; s < servers; ++s) loads.emplace_back(s * threads, threads);
  for (std::size_t i : order) {
    blocks[i].shard = loads[blocks[i].shard.value()].Take(blocks[i].bytes());
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

absl::StatusOr<Layout> Layout::Create(std::vector<TensorSpec> tensors, int servers, int threads) {
  WEIR_RETURN_IF_ERROR(ValidateTensors(tensors));
  constexpr int kMost = std::numeric_limits<std::uint16_t>::max();
  if (servers < 1 || threads < 1 || servers > kMost / threads) {
    return absl::InvalidArgumentError(absl::StrCat("a layout needs 1 to ", kMost, " shards, not ",
                                                   servers, " ps of ", threads, " threads"));
  }
  Layout layout;
  layout.threads_ = threads;
  layout.tensors_ = std::move(tensors);
  WEIR_ASSIGN_OR_RETURN(layout.blocks_, CutIntoBlocks(layout.tensors_));
  const std::vector<std::size_t> order = LargestFirst(layout.blocks_);
  PlaceOnServers(layout.blocks_, order, servers);
  layout.fingerprint_ = Fingerprint(layout.tensors_, layout.blocks_);
  PlaceOnThreads(layout.blocks_, order, servers, threads);
  layout.by_shard_.resize(static_cast<std::size_t>(servers) * static_cast<std::size_t>(threads));
  for (const Block& block : layout.blocks_) {
    layout.by_shard_[block.shard.value()].push_back(block.id);
    layout.elements_ += block.elements;
  }
  return layout;
}

std::int64_t Layout::bytes_of(ShardIndex shard) const {
  std::int64_t bytes = 0;
  for (BlockId id : blocks_of(shard)) bytes += block(id).bytes();
  return bytes;
}

}  // namespace weir
