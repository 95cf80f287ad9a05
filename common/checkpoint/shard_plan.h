#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/ids.h"
#include "common/model/layout.h"

namespace weir {

/// A run of elements of one tensor, as one entry of a shard file.
struct ShardEntry {
  std::string tensor;
  std::vector<std::int64_t> tensor_shape;  ///< of the whole tensor
  std::int64_t offset = 0;                 ///< first element within the tensor
  std::int64_t elements = 0;
};

/// Name of the entry in a shard file: `TENSOR` where it holds all `tensor_elements`, else
/// `TENSOR@OFFSET`. The reader and the writer agree by this one function.
std::string ShardEntryName(absl::string_view tensor, std::int64_t offset, std::int64_t elements,
                           std::int64_t tensor_elements);

/// "shard-0-of-2.safetensors". A checkpoint made by one program counts as one shard.
std::string ShardFileName(ShardIndex shard, int shards);

/// The entries of one shard's file: entry i is block i of `layout.blocks_of(shard)`; after them, on
/// shard 0, the tensors that have no element and so no block. Together the files of all shards
/// hold every tensor exactly once.
std::vector<ShardEntry> PlanShardFile(const Layout& layout, ShardIndex shard);

}  // namespace weir
