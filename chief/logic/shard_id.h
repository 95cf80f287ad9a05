#pragma once

#include <compare>
#include <cstdint>

namespace weir::chief {

/// A shard, as the chief knows it: a thread of a ps.
struct ShardId {
  std::uint32_t ps = 0;
  std::uint32_t thread = 0;
  friend auto operator<=>(const ShardId&, const ShardId&) = default;
};

}  // namespace weir::chief
