#pragma once

#include <ucs/type/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weir::net {

/// The Status of a UCX result: kOk for UCS_OK, else its code as common/net/ucx/status.cc lists
/// them, and "`what`: UCX's own text".
absl::Status FromUcs(ucs_status_t status, absl::string_view what);

}  // namespace weir::net
