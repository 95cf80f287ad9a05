#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir::rpc {

/// The numeric host:port texts that `who` ("ps 0") should listen on for `address`, each tried with
/// a plain bind first. Loopback only: each address of the host that this machine has (one where the
/// port is 0, so that there is one port). Else the wildcard of the port, [::] or 0.0.0.0.
/// gRPC by itself gives no reason for a failed listen, and is content when one of a name's
/// addresses worked: a second "ps 0" would share localhost with the first, one on IPv6 only.
/// Errors (all exit 2): kAlreadyExists when a process listens there; kInvalidArgument.
absl::StatusOr<std::vector<std::string>> ListenAddresses(absl::string_view who,
                                                         const std::string& address,
                                                         bool loopback_only);

}  // namespace weir::rpc
