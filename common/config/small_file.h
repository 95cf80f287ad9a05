#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace weir {

/// The whole of a file of at most `max_bytes`: a token, a configuration. Errors: kInvalidArgument
/// saying why, without the file's name, which the caller's message has: missing, not readable, a
/// directory, too large.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, std::size_t max_bytes);

}  // namespace weir
