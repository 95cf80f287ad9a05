#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/config/environment.h"
#include "common/config/flag_table.h"
#include "common/rpc/tls_identity.h"

namespace weir::cli {

/// What `weir status` was told.
struct StatusArguments {
  std::string chief;  ///< host:port
  std::string token;  ///< from --token-file, else from WEIR_TOKEN
  rpc::TlsFiles tls;
  bool json = false;
  std::optional<absl::Duration> watch;  ///< how often; none: once
  bool help_requested = false;  ///< print the help and do nothing; the rest is not to be used
};

/// Errors: exit 2 with every mistake.
absl::StatusOr<StatusArguments> ParseStatus(std::span<const std::string> arguments,
                                            const Environment& environment);

std::vector<FlagText> StatusFlagTexts();

}  // namespace weir::cli
