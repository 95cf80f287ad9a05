#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/flag_table.h"

namespace weir::bench {

/// What `weir bench apply` was told.
struct ApplyBenchOptions {
  std::vector<std::uint64_t> sizes;  ///< bytes of one tensor
  std::vector<int> threads;          ///< rows for each of these numbers; never empty after parsing
  std::uint64_t iters = 0;           ///< of each loop in each thread; 0: by size
  std::vector<int> cpus;             ///< to pin to, in turn; never empty after parsing
  std::string json;                  ///< path; empty: none
  bool help_requested = false;
};

/// Errors: kInvalidArgument (exit 2) listing every mistake.
absl::StatusOr<ApplyBenchOptions> ParseApplyBench(std::span<const std::string> arguments);
std::vector<FlagText> ApplyBenchFlagTexts();

/// Timed iterations at `size`: what was asked for, else as many as cover 1 GiB, from 10 to 5000.
std::uint64_t ItersOf(const ApplyBenchOptions& options, std::uint64_t size);

}  // namespace weir::bench
