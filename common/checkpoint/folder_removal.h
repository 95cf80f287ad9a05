#pragma once

#include <string>

#include "absl/status/status.h"

namespace weir {

/// Removes what weir writes into a checkpoint's folder: the manifest first and durably, then shard
/// files and temporary files. Other files and folders stay. Goes on after an error and returns the
/// first one.
absl::Status RemoveCheckpointFiles(const std::string& folder);

/// The same, then the folder itself; one that still holds something else stays, with a warning.
absl::Status RemoveCheckpoint(const std::string& folder);

}  // namespace weir
