#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/flag_table.h"
#include "common/config/job_options.h"

namespace weir::bench {

enum class DataBench {
  kLatency,    ///< one operation outstanding
  kBandwidth,  ///< a window of them
};
/// "latency", "bandwidth".
std::string NameOf(DataBench bench);

/// What `weir bench latency` or `weir bench bandwidth` was told.
///
/// A client has one push or pull under way at a time, of all tensors of its model. So the window of
/// `bandwidth` is a model of as many tensors of the size: one push or pull of it is a window of
/// operations that start together, and the next window starts when the last of them has ended.
struct DataBenchOptions {
  DataBench bench = DataBench::kLatency;
  std::vector<std::uint64_t> sizes;  ///< bytes of one tensor; one row an operation and size
  int window = 1;                    ///< tensors; 1 for kLatency
  int ps = 1;
  int ps_threads = 1;  ///< shards of each ps
  int workers = 1;
  TransportChoice transport = TransportChoice::kAuto;
  std::uint64_t iters = 0;  ///< timed pushes, and pulls, of each worker in all; 0: by size
  int rounds = 5;           ///< that they are parted into
  bool control = false;     ///< raw UCX too, between the first worker and the first ps
  std::vector<int> cpus;    ///< to pin to, in turn: workers, then ps; never empty after parsing
  std::string json;         ///< path; empty: none
  std::string plot;         ///< path; empty: none
  bool help_requested = false;
};

/// Errors: kInvalidArgument (exit 2) listing every mistake.
absl::StatusOr<DataBenchOptions> ParseDataBench(DataBench bench,
                                                std::span<const std::string> arguments);
std::vector<FlagText> DataBenchFlagTexts(DataBench bench);

/// How often pushes, pulls and controls take turns, so that a machine that changes meanwhile
/// changes for all of them, and how many of each operation a turn times.
struct Rounds {
  int count = 1;
  std::uint64_t iters = 1;
};
/// At `size`, together: what was asked for, else as many as move 256 MiB, from 30 to 5000; in
/// either case as many more as fill the last round.
Rounds RoundsOf(const DataBenchOptions& options, std::uint64_t size);
/// Those before a round's, which are not timed: a tenth, or 10 where that is more, but no more than
/// them.
std::uint64_t WarmUpOf(std::uint64_t iters);

}  // namespace weir::bench
