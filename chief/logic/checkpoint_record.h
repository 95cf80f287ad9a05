#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chief/logic/shard_id.h"
#include "common/base/ids.h"

namespace weir::chief {

/// A run of elements of one tensor in a shard's file.
struct StoredPart {
  std::string tensor;
  std::uint64_t offset = 0;  ///< first element within the tensor
  std::uint64_t elements = 0;
  std::uint64_t checksum = 0;
};

/// One shard's durable part of a checkpoint, as that shard reported it.
struct StoredShard {
  ShardId shard;
  std::string file;  ///< name within the folder
  std::uint64_t file_bytes = 0;
  std::vector<StoredPart> parts;
  std::vector<std::uint32_t> worker_clocks;  ///< by worker index
};

/// What a manifest is made from. Every shard's file is durable.
struct CheckpointRecord {
  std::string folder;  ///< "step-00001200", in the model directory
  Step step;           ///< the global step when the shards were told to save
  bool is_final = false;
  std::vector<StoredShard> shards;  ///< by ps index and thread
};

}  // namespace weir::chief
