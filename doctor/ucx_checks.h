#pragma once

#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "doctor/check.h"
#include "doctor/ucx_view.h"

namespace weir::doctor {

/// The library's version and memory types. `built_with`: its headers' "major.minor".
Check CheckUcx(const UcxView& view, absl::string_view built_with);

/// Its transports, and whether RDMA is among them where the kernel has an active RDMA port.
Check CheckUcxTransports(const UcxView& view, bool active_rdma_port);

/// The UCX_ variables among `variables` ("NAME=VALUE"), which go before weir's own choices.
Check CheckUcxVariables(const UcxView& view, std::span<const std::string> variables);

/// The headers' version, for CheckUcx.
std::string UcxBuiltWith();

}  // namespace weir::doctor
