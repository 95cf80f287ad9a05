#include "bench/data/data_bench.h"

#include <algorithm>
#include <cstdio>
#include <map>
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

std::string OpOf(ControlKind kind) {
  if (kind == ControlKind::kGet) return "control_get";
  return kind == ControlKind::kMessage ? "control_am" : "control_eager";
}

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

  /// What the rounds of one size measured.
  struct Series {
    std::vector<Samples> pushes, pulls;
    std::map<ControlKind, std::vector<Samples>> controls;
  };

  absl::Status Measure(std::uint64_t size) {
    const Rounds rounds = RoundsOf(options_, size);
    LogInfo(SizeText(size), ": ", rounds.count, " rounds of ", rounds.iters,
            " pushes and pulls of each worker");
    WEIR_ASSIGN_OR_RETURN(ProcessSet processes, ProcessSet::Start(options_, size));
    if (rows_.empty()) {
      context_ = {.path = processes.path(),
                  .worker_cpus = WorkerCpus(options_),
                  .ps_cpus = PsCpus(options_)};
      Print(Heading(options_, context_));
    }
    Series series;
    for (int i = 0; i < rounds.count; ++i) {
      WEIR_RETURN_IF_ERROR(MeasureRound(processes, series));
      if (i == 0) WEIR_RETURN_IF_ERROR(TellPath(processes, size));
    }
    WEIR_RETURN_IF_ERROR(processes.End());
    Conclude(size, series);
    return absl::OkStatus();
  }

  absl::Status MeasureRound(ProcessSet& processes, Series& series) const {
    WEIR_ASSIGN_OR_RETURN(Samples pushes, processes.Do("push"));
    WEIR_ASSIGN_OR_RETURN(const Samples sum, processes.Do("check"));
    pushes.wrong += sum.wrong;
    series.pushes.push_back(std::move(pushes));
    WEIR_ASSIGN_OR_RETURN(series.pulls.emplace_back(), processes.Do("pull"));
    if (!options_.control) return absl::OkStatus();
    std::vector<ControlKind> kinds = {ControlKind::kMessage, ControlKind::kEagerMessage};
    // Over tcp a get is a message to UCX too.
    const bool gets_exist = ControlFabricOf(processes.path()) != net::UcxFabric::kTcp;
    if (gets_exist) kinds.insert(kinds.begin(), ControlKind::kGet);
    WEIR_ASSIGN_OR_RETURN(std::vector<Samples> samples, processes.DoControls(kinds));
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      series.controls[kinds[i]].push_back(std::move(samples[i]));
    }
    return absl::OkStatus();
  }

  /// A ps answers the first push whether it can get at the gradients where they lie.
  absl::Status TellPath(ProcessSet& processes, std::uint64_t size) {
    WEIR_ASSIGN_OR_RETURN(const std::string path, processes.PathNow());
    if (path == context_.path) return absl::OkStatus();
    Print(absl::StrCat("# ", SizeText(size), ": path ", path, "\n"));
    context_.other_paths[size] = path;
    return absl::OkStatus();
  }

  void Conclude(std::uint64_t size, const Series& series) {
    DataRow push = RowOf("push", size, options_.window, options_.workers, series.pushes);
    DataRow pull = RowOf("pull", size, options_.window, options_.workers, series.pulls);
    std::vector<DataRow> controls;
    for (const auto& [kind, rounds] : series.controls) {
      controls.push_back(RowOf(OpOf(kind), size, options_.window, /*workers=*/1, rounds));
    }
    if (!controls.empty()) {
      // A get, which is the last, where there are any; else a message is the same the other way.
      const auto& message = std::min(controls[0], controls[1], [](const auto& a, const auto& b) {
        return a.p50_us() < b.p50_us();
      });
      Compare(message, push);
      Compare(controls.size() > 2 ? controls[2] : message, pull);
    }
    Add(std::move(push));
    Add(std::move(pull));
    for (DataRow& control : controls) Add(std::move(control));
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
