#include "common/checkpoint/shard_plan.h"

#include "absl/strings/str_cat.h"

namespace weir {

std::string ShardEntryName(absl::string_view tensor, std::int64_t offset, std::int64_t elements,
                           std::int64_t tensor_elements) {
  if (elements == tensor_elements) return std::string(tensor);
  return absl::StrCat(tensor, "@", offset);
}

std::string ShardFileName(ShardIndex shard, int shards) {
  return absl::StrCat("shard-", shard.value(), "-of-", shards, ".safetensors");
}

std::vector<ShardEntry> PlanShardFile(const Layout& layout, ShardIndex shard) {
  std::vector<ShardEntry> entries;
  for (const BlockId id : layout.blocks_of(shard)) {
    const Block& block = layout.block(id);
    const TensorSpec& tensor = layout.tensors()[block.tensor];
    entries.push_back({.tensor = tensor.name,
                       .tensor_shape = tensor.shape,
                       .offset = block.offset,
                       .elements = block.elements});
  }
  if (shard != ShardIndex(0)) return entries;
  for (const TensorSpec& tensor : layout.tensors()) {
    if (tensor.elements() > 0) continue;
    entries.push_back({.tensor = tensor.name, .tensor_shape = tensor.shape});
  }
  return entries;
}

}  // namespace weir
