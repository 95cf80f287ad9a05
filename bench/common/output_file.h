#pragma once

#include <string>

#include "absl/status/status.h"

namespace weir::bench {

/// Whether a benchmark could write `path`, so that it does not run for minutes first. Empty: there
/// is nothing to write. Errors: exit 2, naming the flag.
absl::Status ProbeOutput(const std::string& flag, const std::string& path);

/// `text` into `path`, whole or not at all; nothing where that is empty.
absl::Status WriteOutput(const std::string& path, const std::string& text);

}  // namespace weir::bench
