#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "weir/job.h"

namespace weir {

/// What --job names.
struct ChosenJob {
  std::unique_ptr<Job> job;
  /// It came from a file: no role of `weir` can train or evaluate it.
  bool tensors_only = false;
};

/// The built-in job of this name, or the one of the file that it names by its path, which has a `/`
/// or ends with ".json". Errors: kNotFound (exit 2), naming those that exist; as ReadJobFile.
absl::StatusOr<ChosenJob> CreateJob(const std::string& name);

}  // namespace weir
