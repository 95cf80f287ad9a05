#pragma once

#include <string>

#include "schemas/chief_generated.h"

namespace weir {

/// "training  step 400/14000  loss 0.4972  95.5 steps/s  staleness p99 2  ETA 2m22s"; "--" for what
/// is not known yet.
std::string ProgressLine(const wire::StatusReplyT& status);

}  // namespace weir
