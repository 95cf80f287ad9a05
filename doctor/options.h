#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/environment.h"
#include "common/config/flag_table.h"
#include "common/config/tf_config.h"

namespace weir::doctor {

/// What `weir doctor` was told.
struct DoctorOptions {
  bool json = false;
  std::string tf_config_file;   ///< empty: the variable TF_CONFIG
  bool help_requested = false;  ///< print the help and do nothing; the rest is not to be used
};

/// Errors: kInvalidArgument (exit 2) listing every mistake.
absl::StatusOr<DoctorOptions> ParseDoctor(std::span<const std::string> arguments);
std::vector<FlagText> DoctorFlagTexts();

/// The cluster that the options name. Errors: kInvalidArgument (exit 2) with every mistake, as
/// `weir run` would have it.
absl::StatusOr<TfConfig> ClusterOf(const DoctorOptions& options, const Environment& environment);

}  // namespace weir::doctor
