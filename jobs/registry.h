#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "weir/job.h"

namespace weir {

/// The built-in job of this name. Errors: kNotFound (exit 2), naming those that exist.
absl::StatusOr<std::unique_ptr<Job>> CreateJob(const std::string& name);

}  // namespace weir
