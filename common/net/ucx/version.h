#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace weir::net {

/// "1.13.1": the library that is loaded, which may be newer than the headers. weir is written for
/// 1.13's API and needs nothing newer; what a newer UCX does differently is conditional here alone.
std::string UcxVersion();

/// The key by which ucp_config_modify knows tcp's `name` ("RX_SEG_SIZE"). Transports' keys are
/// matched without their prefix up to 1.14, with it (as in the UCX_ variable) from 1.15 on; the
/// wrong one is a warning and no more.
std::string TcpKey(absl::string_view name);

}  // namespace weir::net
