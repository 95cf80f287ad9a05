#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/flag_table.h"
#include "common/config/job_options.h"

namespace weir::bench {

/// One row of the comparison: so many workers on so many ps.
struct ClusterSize {
  int ps = 1;
  int workers = 1;
};

/// What `weir bench train` was told.
struct TrainBenchOptions {
  std::vector<ClusterSize> sizes;
  std::uint64_t steps = 500;  ///< of each worker, in each run
  int pairs = 5;              ///< runs with and without ps, in turn
  int batch_size = 256;
  float learning_rate = 0.05F;
  std::uint64_t seed = 1;
  TransportChoice transport = TransportChoice::kAuto;
  std::string data_dir;   ///< empty: the job's own
  std::vector<int> cpus;  ///< to pin to, in turn; empty: those that this process may use
  std::string json;       ///< path; empty: none
  float least_ratio = 0;  ///< exit 1 when a median is lower; 0: no bar
  bool help_requested = false;
};

/// Errors: kInvalidArgument (exit 2) listing every mistake.
absl::StatusOr<TrainBenchOptions> ParseTrainBench(std::span<const std::string> arguments);
std::vector<FlagText> TrainBenchFlagTexts();

/// What one trainer without ps is told, `weir bench alone`: the bench starts it by itself.
struct AloneOptions {
  std::uint64_t steps = 500;
  int batch_size = 256;
  float learning_rate = 0.05F;
  std::uint64_t seed = 1;
  std::string data_dir;
  int cpu = 0;     ///< to pin to
  int worker = 0;  ///< reads share `worker` of `workers`
  int workers = 1;
  int parent = 0;  ///< ends with this process; 0: with nobody
};
absl::StatusOr<AloneOptions> ParseAlone(std::span<const std::string> arguments);
std::vector<std::string> AloneFlags(const AloneOptions& options);

}  // namespace weir::bench
