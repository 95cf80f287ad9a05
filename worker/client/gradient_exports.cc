#include "worker/client/gradient_exports.h"

#include <algorithm>
#include <utility>

namespace weir {

bool GradientExports::IsKnown(ShardIndex shard, const ParameterBuffer& buffer) const {
  return std::ranges::count(shards_[shard.value()].known, buffer.id()) > 0;
}

bool GradientExports::BeginAnnouncement(ShardIndex index, const ParameterBuffer& buffer) {
  Shard& shard = shards_[index.value()];
  if (shard.announced != 0 || IsKnown(index, buffer)) return false;
  shard.announced = buffer.id();
  shard.memory = buffer.memory();
  // The shard forgets the one there before its answer is here.
  shard.takes_turns |= std::exchange(shard.known[shard.next], 0) != 0;
  return true;
}

bool GradientExports::EndAnnouncement(ShardIndex index, std::uint64_t buffer, bool known) {
  Shard& shard = shards_[index.value()];
  if (shard.announced != buffer || buffer == 0) return false;
  shard.announced = 0;
  shard.memory.reset();
  if (known) {
    shard.known[shard.next] = buffer;
    shard.next = (shard.next + 1) % kBuffersKeptMapped;
  }
  return true;
}

}  // namespace weir
