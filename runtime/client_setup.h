#pragma once

#include "absl/status/statusor.h"
#include "common/config/environment.h"
#include "runtime/role_setup.h"
#include "weir/client.h"

namespace weir {

/// The place of a program that uses weir::Client, as its configuration and the environment say;
/// `layout` is the caller's to fill in. Errors: kInvalidArgument (exit 2) listing every mistake.
absl::StatusOr<RoleSetup> SetupOfClient(const ClientConfig& config, const Environment& environment);

}  // namespace weir
