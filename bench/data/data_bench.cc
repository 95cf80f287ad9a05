#include "bench/data/data_bench.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/common/output_file.h"
#include "bench/common/sizes_flag.h"
#include "bench/data/control.h"
#include "bench/data/plot.h"
#include "bench/data/process_set.h"
#include "bench/data/report.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "runtime/stop_signal.h"

namespace weir::bench {
namespace {

class DataBenchRun {
 public:
  explicit DataBenchRun(const DataBenchOptions& options) : options_(options) {}

  absl::StatusOr<int> Run() {
    for (const std::uint64_t size : options_.sizes) WEIR_RETURN_IF_ERROR(Measure(size));
    return Conclude();
  }

 private:
  static void Print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  absl::Status Measure(std::uint64_t size) {
    LogInfo(SizeText(size), ": ", ItersOf(options_, size), " pushes and pulls of each worker");
    WEIR_ASSIGN_OR_RETURN(ProcessSet processes, ProcessSet::Start(options_, size));
    if (rows_.empty()) {
      context_ = {.path = processes.path(),
                  .worker_cpus = WorkerCpus(options_),
                  .ps_cpus = PsCpus(options_)};
      Print(Heading(options_, context_));
    }
    WEIR_ASSIGN_OR_RETURN(Samples pushes, processes.Do("push"));
    WEIR_ASSIGN_OR_RETURN(const Samples sum, processes.Do("check"));
    pushes.wrong += sum.wrong;
    // A ps answers the first push whether it can get at the gradients where they lie.
    WEIR_ASSIGN_OR_RETURN(const std::string path, processes.PathNow());
    if (path != context_.path) {
      Print(absl::StrCat("# ", SizeText(size), ": path ", path, "\n"));
      context_.other_paths[size] = path;
    }
    WEIR_ASSIGN_OR_RETURN(Samples pulls, processes.Do("pull"));
    DataRow push = RowOf("push", size, options_.window, options_.workers, std::move(pushes));
    DataRow pull = RowOf("pull", size, options_.window, options_.workers, std::move(pulls));
    std::vector<DataRow> controls;
    if (options_.control) {
      WEIR_ASSIGN_OR_RETURN(controls, MeasureControls(processes, size));
      Compare(controls.front(), push);
      Compare(controls.back(), pull);
    }
    WEIR_RETURN_IF_ERROR(processes.End());
    Add(std::move(push));
    Add(std::move(pull));
    for (DataRow& control : controls) Add(std::move(control));
    return absl::OkStatus();
  }

  /// That of a push first, that of a pull last. A message's is the better of UCX's protocols.
  absl::StatusOr<std::vector<DataRow>> MeasureControls(ProcessSet& processes,
                                                       std::uint64_t size) const {
    std::vector<ControlKind> kinds = {ControlKind::kMessage, ControlKind::kEagerMessage};
    // Over tcp a get is a message to UCX too.
    const bool gets_exist = ControlFabricOf(processes.path()) != net::UcxFabric::kTcp;
    if (gets_exist) kinds.insert(kinds.begin(), ControlKind::kGet);
    WEIR_ASSIGN_OR_RETURN(std::vector<Samples> samples, processes.DoControls(kinds));
    std::vector<DataRow> messages, gets;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const bool get = kinds[i] == ControlKind::kGet;
      (get ? gets : messages)
          .push_back(RowOf(get ? "control_get" : "control_am", size, options_.window, /*workers=*/1,
                           std::move(samples[i])));
    }
    std::vector<DataRow> rows = {*std::ranges::min_element(messages, {}, &DataRow::p50_us)};
    std::ranges::move(gets, std::back_inserter(rows));
    return rows;
  }

  void Add(DataRow row) {
    Print(RowLine(row));
    rows_.push_back(std::move(row));
  }

  absl::StatusOr<int> Conclude() const {
    Print(ResultLine(rows_));
    WEIR_RETURN_IF_ERROR(WriteOutput(options_.json, ReportJson(options_, context_, rows_)));
    WEIR_RETURN_IF_ERROR(WriteOutput(options_.plot, PlotSvg(options_, context_, rows_)));
    return static_cast<int>(VerdictOn(rows_));
  }

  const DataBenchOptions& options_;
  StopSignal stop_;
  RunContext context_;
  std::vector<DataRow> rows_;
};

}  // namespace

absl::StatusOr<int> RunDataBench(const DataBenchOptions& options) {
  WEIR_RETURN_IF_ERROR(ProbeOutput("--json", options.json));
  WEIR_RETURN_IF_ERROR(ProbeOutput("--plot", options.plot));
  return DataBenchRun(options).Run();
}

}  // namespace weir::bench
