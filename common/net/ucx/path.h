#pragma once

#include <ucp/api/ucp.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weir::net {

/// The distinct transports in the text of ucp_ep_print_info, in the order of their lanes:
/// {"tcp/lo"}, {"posix", "sysv"}. For people only: the text differs by UCX version, and a text
/// that is not understood gives none.
std::vector<std::string> LanesIn(absl::string_view info);

/// LanesIn of an endpoint; empty before its lanes are chosen.
std::vector<std::string> LanesOf(ucp_ep_h endpoint);

}  // namespace weir::net
