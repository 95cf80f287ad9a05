#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/flag_table.h"
#include "weir/client.h"

namespace weir::bench {

/// What `weir bench cluster` was told. The cluster, and that this process is its worker, stands in
/// TF_CONFIG.
struct ClusterBenchOptions {
  std::string job;      ///< path of the job file that chief and ps were started with
  ClientConfig client;  ///< how to reach them; without job and tensors, which the file names
  std::string json;     ///< path; empty: none
  bool help_requested = false;
};

/// Errors: kInvalidArgument (exit 2) listing every mistake.
absl::StatusOr<ClusterBenchOptions> ParseClusterBench(std::span<const std::string> arguments);
std::vector<FlagText> ClusterBenchFlagTexts();

}  // namespace weir::bench
