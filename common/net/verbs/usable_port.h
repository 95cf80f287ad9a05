#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/net/verbs/devices.h"

namespace weir::net {

/// The first active port among those that `net_devices` allows ("mlx5_0:1,eth0"; empty: all), as
/// "mlx5_0:1".
/// Errors: kFailedPrecondition (exit 2) naming what is missing and what to do: libibverbs in this
/// build, a device, the right to open it, a port that is active.
absl::StatusOr<std::string> UsablePort(const RdmaView& view, absl::string_view net_devices);

}  // namespace weir::net
