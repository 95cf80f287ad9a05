#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/job_options.h"
#include "common/config/tf_config.h"

namespace weir {

/// Whether `path` can name a directory of this machine; nothing is opened. Errors:
/// kInvalidArgument, without the key: empty, or another file system's URL ("gs://...").
absl::Status CheckModelDir(const std::string& path);

/// The model directory of `weir run`: --model-dir or TF_CONFIG's model_dir. Where both are given
/// they must name the same directory (compared as text, without "." and a last "/").
/// Errors: kInvalidArgument (exit 2) when they differ or neither is given.
absl::StatusOr<std::string> MergeModelDir(const JobOptions& job, const TfConfig& config);

}  // namespace weir
