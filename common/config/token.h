#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/config/environment.h"

namespace weir {

/// The variable that carries the cluster token, also to child processes.
inline constexpr char kTokenVariable[] = "WEIR_TOKEN";

/// Reads a token from a file, without the newline at its end. Errors: kInvalidArgument, never
/// quoting the token: no such file, empty, longer than 1024 bytes, or with a byte that is not
/// printable ASCII (gRPC could not carry it).
absl::StatusOr<std::string> ReadTokenFile(const std::string& path);

/// The token of WEIR_TOKEN; empty when it is not set. Errors: as above, and for a variable that is
/// set and empty, since a job that was to be protected would run open.
absl::StatusOr<std::string> TokenOf(const Environment& environment);

}  // namespace weir
