#include "worker/client/gradient_exports.h"

#include <algorithm>

namespace weir {

bool GradientExports::IsMapped(ShardIndex shard, const ParameterBuffer& buffer) const {
  return std::ranges::count(shards_[shard.value()].mapped, buffer.id()) > 0;
}

bool GradientExports::BeginAnnouncement(ShardIndex index, const ParameterBuffer& buffer) {
  Shard& shard = shards_[index.value()];
  if (shard.announced != 0 || IsMapped(index, buffer)) return false;
  shard.announced = buffer.id();
  shard.memory = buffer.memory();
  return true;
}

bool GradientExports::EndAnnouncement(ShardIndex index, std::uint64_t buffer, bool mapped) {
  Shard& shard = shards_[index.value()];
  if (shard.announced != buffer || buffer == 0) return false;
  shard.announced = 0;
  shard.memory.reset();
  if (mapped) {
    shard.mapped[shard.next] = buffer;
    shard.next = (shard.next + 1) % kBuffersKeptMapped;
  }
  return true;
}

}  // namespace weir
