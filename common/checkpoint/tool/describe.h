#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/checkpoint/tool/report.h"

namespace weir {

/// The complete checkpoints of a model directory, oldest first, a line each; one with a bad
/// manifest says so in its line. A directory without any is no error; a missing one is.
Report DescribeModelDir(const std::string& model_dir, ReportFormat format);

/// One checkpoint: step, job, tensors, files; each file is held against the size in the manifest.
/// Reads no weights: VerifyPath does.
Report DescribeCheckpoint(const std::string& checkpoint, ReportFormat format);

}  // namespace weir
