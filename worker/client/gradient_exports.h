#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/ids.h"
#include "common/model/protocol.h"
#include "common/net/transport.h"
#include "worker/client/parameter_buffer.h"

namespace weir {

/// Which of this client's buffers each shard has mapped or open, as it said: pushes from these may
/// name the gradient instead of carrying it. Mirrors ps::ExportedGradients. Allocates nothing once
/// made.
class GradientExports {
 public:
  GradientExports() = default;
  explicit GradientExports(std::size_t shards) : shards_(shards) {}

  bool IsKnown(ShardIndex shard, const ParameterBuffer& buffer) const;

  /// Whether the buffer is to be announced to `shard` now: it is not known there, and nothing else
  /// is being announced. Its memory, and with it the key, is then kept until the answer, and the
  /// buffer whose place it takes is no longer known.
  bool BeginAnnouncement(ShardIndex shard, const ParameterBuffer& buffer);
  /// Whether one has taken another's place: pushes come from more buffers than the shard keeps.
  bool TakesTurns(ShardIndex shard) const { return shards_[shard.value()].takes_turns; }
  /// The shard's answer. False, and no effect, if it is to no announcement of ours.
  bool EndAnnouncement(ShardIndex shard, std::uint64_t buffer, bool known);

 private:
  struct Shard {
    std::array<std::uint64_t, kBuffersKeptMapped> known{};  // ids of buffers; 0: none
    std::size_t next = 0;                                   // the place that the next one takes
    bool takes_turns = false;
    std::uint64_t announced = 0;                // 0: none is
    std::shared_ptr<const net::Memory> memory;  // of `announced`
  };
  std::vector<Shard> shards_;
};

}  // namespace weir
