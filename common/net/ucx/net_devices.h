#pragma once

#include <string>

#include "absl/status/status.h"

namespace weir::net {

/// Ok when this host has every device of `list`, as UCX_NET_DEVICES is written ("eth0,mlx5_0:1"),
/// down or up. To be asked before UCX is, which says of a wrong name only that it has no transport,
/// and nothing of one beside right ones. What is no list of names ("all", "^docker0") is for UCX.
/// Errors: kInvalidArgument, naming the device and those that there are.
absl::Status CheckNetDevices(const std::string& list);

}  // namespace weir::net
