#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weir::rpc {

/// The metadata key that carries the cluster token.
inline constexpr char kTokenKey[] = "weir-token";

/// What stands for `token` in a call's metadata: itself where it is printable ASCII without spaces,
/// else "hex:" and its bytes in hex, for gRPC ends the process on a value that HTTP/2 forbids.
std::string TokenOnTheWire(absl::string_view token);

/// Whether a call that carries `given` (null: no token) may pass where `expected` (as on the wire;
/// empty: none is asked for) is. Takes the same time wherever the two differ.
/// Errors: kUnauthenticated, with what to set.
absl::Status CheckToken(absl::string_view expected, const absl::string_view* given);

}  // namespace weir::rpc
