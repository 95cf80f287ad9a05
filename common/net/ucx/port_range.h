#pragma once

#include <string>

#include "absl/status/status.h"

namespace weir::net {

/// Ok when `range` ("40000-40100") is a range of ports of which one can be listened on now, on
/// every device or on loopback alone. To be asked before UCX is: UCX 1.13 takes nonsense for "any
/// port", and tries a range without a free port for ever.
/// Errors: kInvalidArgument for what is no range; kResourceExhausted when all are taken.
absl::Status CheckPortRange(const std::string& range, bool loopback_only);

}  // namespace weir::net
