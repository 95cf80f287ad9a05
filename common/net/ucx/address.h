#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir::net {

/// A UCX worker address with what lets the receiver refuse it: UCX itself parses addresses without
/// checks, and may abort on one of another version. The checksum is against accidents, not
/// attackers: addresses come only from authenticated peers.
std::string PackUcxAddress(absl::string_view worker_address);

/// The worker address in `packed`. Errors: kInvalidArgument when it is no such thing;
/// kFailedPrecondition for another UCX series, naming both.
absl::StatusOr<std::string> UnpackUcxAddress(absl::string_view packed);

}  // namespace weir::net
