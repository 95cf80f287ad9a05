#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/train/options.h"
#include "worker/training/phase_times.h"

namespace weir::bench {

/// One run: all its workers' steps a second, and where one step's time went on the average.
struct Run {
  double steps_per_second = 0;
  PhaseTimes step;
  double staleness_p50 = 0;
  std::uint64_t wrong = 0;  ///< pushes that were lost or applied more than once
};

/// The run that a summary (README, "Summary") tells of; `steps` are those it was to do.
/// Errors: kInternal for a text that is no such summary.
absl::StatusOr<Run> RunOfSummary(const std::string& summary, std::uint64_t steps);

/// A run without and one with ps, one after the other.
struct Pair {
  Run alone, weir;
  double ratio() const { return weir.steps_per_second / alone.steps_per_second; }
};

/// All pairs of one size of cluster.
struct Row {
  ClusterSize size;
  std::vector<Pair> pairs;
  double median_ratio() const;
  std::uint64_t wrong() const;
};

std::string Heading(const TrainBenchOptions& options);
std::string PairLine(const ClusterSize& size, int number, const Pair& pair);
/// Medians, the least and the largest ratio, and the phase table of one row.
std::string RowText(const Row& row);
std::string ReportJson(const TrainBenchOptions& options, const std::vector<Row>& rows);

}  // namespace weir::bench
