#include "bench/apply/apply_bench.h"

#include <cstdio>
#include <string>
#include <vector>

#include "bench/apply/apply_run.h"
#include "bench/apply/report.h"
#include "bench/common/output_file.h"
#include "bench/common/sizes_flag.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace weir::bench {
namespace {

void Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

absl::StatusOr<int> RunApplyBench(const ApplyBenchOptions& options) {
  WEIR_RETURN_IF_ERROR(ProbeOutput("--json", options.json));
  Print(Heading(options));
  std::vector<ApplyRow> rows;
  for (const std::uint64_t size : options.sizes) {
    for (const int threads : options.threads) {
      LogInfo(SizeText(size), ", ", threads, threads == 1 ? " thread" : " threads");
      const ApplyRun run{.size = size,
                         .cpus = {options.cpus.begin(), options.cpus.begin() + threads},
                         .iters = ItersOf(options, size)};
      WEIR_ASSIGN_OR_RETURN(const std::vector<ApplyTimes> times, TimeApply(run));
      AddRows(run, times, rows);
      Print(RowLine(rows[rows.size() - 2]) + RowLine(rows.back()));
    }
  }
  Print(ResultLine(rows));
  WEIR_RETURN_IF_ERROR(WriteOutput(options.json, ReportJson(options, rows)));
  return static_cast<int>(VerdictOn(rows));
}

}  // namespace weir::bench
