#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/bounded_queue.h"
#include "common/checkpoint/manifest.h"
#include "common/model/layout.h"
#include "ps_server/logic/shard.h"
#include "schemas/chief_generated.h"

namespace weir::ps {

/// Writes a shard's cut to its file on a thread of its own, so that pushes go on meanwhile; each
/// block is released as soon as its bytes are written.
class CheckpointWriter {
 public:
  struct Task {
    std::uint32_t id = 0;
    std::string folder;
    Shard::Snapshot snapshot;
  };
  using Release = std::function<void(BlockPin)>;
  using Done = std::function<void(wire::CheckpointDoneT)>;

  /// `release` and `done` are called on the writer's thread.
  CheckpointWriter(const Layout& layout, ShardIndex shard, Release release, Done done);
  ~CheckpointWriter();

  /// False, and `task` untouched, when the writer still has one waiting or has stopped.
  bool TryStart(Task&& task);
  /// Gives up after the block being written; the rest is released, and done is called.
  void Stop();

 private:
  void Run();
  absl::StatusOr<ManifestFile> Write(const Task& task);
  /// Counts in `next` the blocks that were released.
  absl::StatusOr<ManifestFile> WriteBlocks(const Task& task, std::size_t& next);

  const Layout& layout_;
  const ShardIndex shard_;
  const Release release_;
  const Done done_;
  BoundedQueue<Task> tasks_{1};
  std::jthread thread_;
};

}  // namespace weir::ps
