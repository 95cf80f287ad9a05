#pragma once

#include <string>

#include "absl/status/status.h"

namespace weir {

/// A table for people, and whether what it shows is sound.
struct Description {
  std::string text;     ///< for stdout, with its last newline; empty where nothing could be read
  absl::Status status;  ///< exit code 3: what is missing or corrupt (the first of it)
};

/// The complete checkpoints of a model directory, oldest first, a line each; one with a bad
/// manifest says so in its line. A directory without any is no error; a missing one is.
Description DescribeModelDir(const std::string& model_dir);

/// One checkpoint: step, job, tensors, files; each file is held against the size in the manifest.
/// Reads no weights: `CheckpointReader::VerifyAll` does.
Description DescribeCheckpoint(const std::string& checkpoint);

}  // namespace weir
