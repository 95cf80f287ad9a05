#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/apply/apply_run.h"
#include "bench/apply/options.h"
#include "bench/common/samples.h"
#include "weir/exit_code.h"

namespace weir::bench {

/// One loop over one size on so many threads.
struct ApplyRow {
  std::string op;  ///< "sgd" or "triad"
  std::uint64_t size_bytes = 0;
  int threads = 1;
  std::uint64_t iters = 0;  ///< of each thread
  Distribution time;        ///< of one pass, over all threads' times
  /// 10^9 bytes read and written a second, 12 an element: each thread's at its median, summed.
  double gbytes_per_s = 0;
  double ops_per_s = 0;  ///< passes of all threads together: each thread's at its mean, summed
  double speedup = 0;    ///< to the first row of the same op and size; of that one 1
  double ratio = 0;      ///< of sgd: its gbytes_per_s to the triad's; of the triad 1
  std::uint64_t wrong = 0;
};

/// Appends the two rows of one run to `rows`.
void AddRows(const ApplyRun& run, std::span<const ApplyTimes> times, std::vector<ApplyRow>& rows);

std::string Heading(const ApplyBenchOptions& options);
std::string RowLine(const ApplyRow& row);
std::string ResultLine(std::span<const ApplyRow> rows);
ExitCode VerdictOn(std::span<const ApplyRow> rows);
std::string ReportJson(const ApplyBenchOptions& options, std::span<const ApplyRow> rows);

}  // namespace weir::bench
