#pragma once

#include <string>

#include "absl/status/status.h"
#include "chief/logic/checkpoint_record.h"

namespace weir::chief {

/// The model directory, as far as the chief writes to it. Called on one thread, which may block.
class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;
  /// Makes the folder a checkpoint: writes its manifest, durably, by rename. The shards' files are
  /// durable already; sizes are worth checking against what is there.
  virtual absl::Status Commit(const CheckpointRecord& record) = 0;
  /// Sets the final mark in the manifest of a committed checkpoint, durably, by rename.
  virtual absl::Status MarkFinal(const std::string& folder) = 0;
  /// Removes all but the newest `keep` checkpoints, and what earlier runs left unfinished.
  /// `keep` is at least 1.
  virtual absl::Status Prune(int keep) = 0;
};

}  // namespace weir::chief
