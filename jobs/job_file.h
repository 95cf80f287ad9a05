#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/job.h"

namespace weir {

/// A job of tensors alone (docs/jobs.md): the chief and the ps run it, its workers are programs
/// that use weir::Client. What needs a model or data of it gets kFailedPrecondition (exit 2).
/// Errors: kInvalidArgument (exit 2) listing every mistake of the file at once.
absl::StatusOr<std::unique_ptr<Job>> ReadJobFile(const std::string& path);

/// The same from a text; `source` stands in its errors.
absl::StatusOr<std::unique_ptr<Job>> ParseJobFile(absl::string_view text, absl::string_view source);

}  // namespace weir
