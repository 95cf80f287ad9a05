#pragma once

#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "common/base/ids.h"

namespace weir::sim {

/// One life of one worker.
struct Life {
  WorkerIndex worker;
  Incarnation incarnation;
  friend auto operator<=>(const Life&, const Life&) = default;
};

enum class Operation { kPush, kPull, kTicket };

// What happened, in the order in which it happened. The checker knows nothing else of a run.

/// `sequence` and `step` are a push's; `by_tensor` too: pulls that start while it goes on follow
/// it, block by block.
struct OperationStarted {
  Life who;
  Operation what;
  Sequence sequence;
  Step step;
  bool by_tensor = false;
};
/// Of the last one of that kind that `who` started.
struct OperationEnded {
  Life who;
  Operation what;
  absl::Status status;
};
/// The life was killed, or declared dead: nobody expects anything of it any more.
struct LifeOver {
  Life who;
};
struct ShardTookView {
  ShardIndex shard;
  ViewNumber view;
  std::vector<Life> live;
};
/// A shard said that it applied a block (not as a duplicate), which is then of `version`.
struct BlockApplied {
  ShardIndex shard;
  BlockId block;
  Life who;
  Sequence sequence;
  Version version;
};
struct PullDelivered {
  Life who;
  BlockId block;
  Version version;
  std::vector<float> values;
};
/// It came straight from the memory of `shard`, read in `view`.
struct MappedReadMade {
  Life who;
  ShardIndex shard;
  ViewNumber view;
};
/// A step began to use a block's weights, which are of `version`, until its gradient is made.
struct WeightsRead {
  Life who;
  BlockId block;
  Version version;
};
struct GradientMade {
  Life who;
  Sequence sequence;
  BlockId block;
};
/// For the first time or again.
struct PushSent {
  Life who;
  Sequence sequence;
  BlockId block;
  Version base;
};
/// Read when the snapshot let go of the block.
struct SnapshotBlock {
  BlockId block;
  Version version;  ///< when the snapshot began
  std::vector<float> values;
};
struct StepGranted {
  Life who;
  Step step;
};
struct StepCounted {
  Life who;
  Step step;
  Step global_step;  ///< afterwards
};
/// Bytes changed between being lent to the network and being given back.
struct LentBytesChanged {
  std::string what;
};
/// Something that is limited reached `value`.
struct LevelReached {
  std::string what;
  int value = 0;
  int limit = 0;
};
/// A shard wants to close the connection of a worker, or a worker that of a shard, although all of
/// them are correct here.
struct PeerAccused {
  std::string peer;  ///< "worker 1"
  std::string what;
};
/// A checkpoint was committed: the blocks of all its files.
struct CutStored {
  Step step;
  std::vector<std::tuple<BlockId, Version, std::vector<float>>> blocks;
};
struct FinalBlock {
  BlockId block;
  std::vector<float> values;
};

using Event = std::variant<OperationStarted, OperationEnded, LifeOver, ShardTookView, BlockApplied,
                           PullDelivered, MappedReadMade, WeightsRead, GradientMade, PushSent,
                           SnapshotBlock, StepGranted, StepCounted, LentBytesChanged, LevelReached,
                           PeerAccused, CutStored, FinalBlock>;
using History = std::vector<Event>;

std::string ToString(const Life& life);
std::string ToString(const Event& event);

}  // namespace weir::sim
