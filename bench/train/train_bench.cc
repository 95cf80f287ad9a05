#include "bench/train/train_bench.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/common/child.h"
#include "bench/common/output_file.h"
#include "bench/train/alone.h"
#include "bench/train/report.h"
#include "common/base/atomic_file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/options.h"
#include "runtime/stop_signal.h"
#include "weir/exit_code.h"

namespace weir::bench {
namespace {

// A step of the job on the slowest machine that anybody should wait for, and starting.
constexpr absl::Duration kMostPerStep = absl::Seconds(5);
constexpr absl::Duration kMostForStart = absl::Seconds(120);

/// A folder that goes with its owner.
class Scratch {
 public:
  static absl::StatusOr<Scratch> Create() {
    std::string path =
        absl::StrCat(std::filesystem::temp_directory_path().string(), "/weir-bench-XXXXXX");
    if (mkdtemp(path.data()) == nullptr) {
      return WithExitCode(
          absl::ErrnoToStatus(errno, absl::StrCat("cannot make a folder like ", path)),
          ExitCode::kBadUsage);
    }
    return Scratch(std::move(path));
  }
  Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class TrainBench {
 public:
  explicit TrainBench(const TrainBenchOptions& options) : options_(options) {}

  absl::StatusOr<int> Run() {
    Print(Heading(options_));
    std::vector<Row> rows;
    for (const ClusterSize& size : options_.sizes) {
      WEIR_ASSIGN_OR_RETURN(rows.emplace_back(), RunRow(size));
    }
    return Conclude(rows);
  }

 private:
  static void Print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  absl::StatusOr<Row> RunRow(const ClusterSize& size) {
    Row row{.size = size};
    for (int number = 1; number <= options_.pairs; ++number) {
      LogInfo(size.workers, " workers, ", size.ps, " ps, pair ", number, " of ", options_.pairs);
      Pair pair;
      WEIR_ASSIGN_OR_RETURN(pair.alone, RunAlone(size));
      WEIR_ASSIGN_OR_RETURN(pair.weir, RunCluster(size));
      Print(PairLine(size, number, pair));
      row.pairs.push_back(pair);
    }
    Print(RowText(row));
    return row;
  }

  int CpuOf(int position) const {
    return options_.cpus[static_cast<std::size_t>(position) % options_.cpus.size()];
  }
  absl::Duration Limit(std::uint64_t steps) const {
    return kMostForStart + kMostPerStep * static_cast<double>(steps);
  }

  absl::StatusOr<struct Run> RunAlone(const ClusterSize& size) {
    std::vector<Child> trainers;
    for (int worker = 0; worker < size.workers; ++worker) {
      std::vector<std::string> arguments = {"bench", "alone"};
      for (std::string& flag : AloneFlags({.steps = options_.steps,
                               .batch_size = options_.batch_size,
                               .learning_rate = options_.learning_rate,
                               .seed = options_.seed,
                               .data_dir = options_.data_dir,
                               .cpu = CpuOf(worker),
                               .worker = worker,
                               .workers = size.workers,
                               .parent = getpid()})) {
        arguments.push_back(std::move(flag));
      }
      WEIR_ASSIGN_OR_RETURN(Child trainer, Child::Start(std::move(arguments)));
      trainers.push_back(std::move(trainer));
    }
    struct Run run;
    for (Child& trainer : trainers) {
      WEIR_ASSIGN_OR_RETURN(const std::string text, trainer.Wait(Limit(options_.steps)));
      WEIR_ASSIGN_OR_RETURN(const AloneResult result, AloneResult::FromJson(text));
      const auto steps = static_cast<double>(result.steps);
      run.steps_per_second += steps / result.seconds;
      const double share = steps * size.workers;  // the average over all trainers' steps
      run.step.data += result.phases.data / share;
      run.step.forward += result.phases.forward / share;
      run.step.backward += result.phases.backward / share;
      run.step.push += result.phases.push / share;
    }
    return run;
  }

  absl::StatusOr<struct Run> RunCluster(const ClusterSize& size) {
    WEIR_ASSIGN_OR_RETURN(const Scratch scratch, Scratch::Create());
    const std::uint64_t steps = options_.steps * static_cast<std::uint64_t>(size.workers);
    const std::string summary = absl::StrCat(scratch.path(), "/summary.json");
    LocalArguments arguments{.job = {.data_dir = options_.data_dir,
                                     .model_dir = absl::StrCat(scratch.path(), "/model"),
                                     .max_steps = steps,
                                     .batch_size = options_.batch_size,
                                     .learning_rate = options_.learning_rate,
                                     .transport = options_.transport,
                                     .save_checkpoints_secs = absl::ZeroDuration(),
                                     .eval_steps = 1,
                                     .seed = options_.seed,
                                     .summary = summary},
                             .ps = size.ps,
                             .workers = size.workers,
                             .pin = PinsOf(size)};
    std::vector<std::string> command = ToLocalFlags(arguments);
    command.insert(command.begin(), "local");
    WEIR_ASSIGN_OR_RETURN(Child cluster, Child::Start(std::move(command)));
    WEIR_RETURN_IF_ERROR(cluster.Wait(Limit(steps)).status());
    WEIR_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(summary, 1 << 24));
    return RunOfSummary(text, steps);
  }

  // Workers first, then ps, around the list; the chief has next to nothing to do.
  CpuPins PinsOf(const ClusterSize& size) const {
    CpuPins pins;
    for (int i = 0; i < size.workers; ++i) pins.cpus[RoleType::kWorker].push_back(CpuOf(i));
    for (int i = 0; i < size.ps; ++i) {
      pins.cpus[RoleType::kPs].push_back(CpuOf(size.workers + i));
    }
    return pins;
  }

  absl::StatusOr<int> Conclude(const std::vector<Row>& rows) const {
    bool good = true;
    std::uint64_t wrong = 0;
    for (const Row& row : rows) {
      wrong += row.wrong();
      good = good && row.median_ratio() >= static_cast<double>(options_.least_ratio);
    }
    good = good && wrong == 0;
    Print(absl::StrCat("# result ", good ? "OK" : "FAILED", " (wrong ", wrong, ")\n"));
    WEIR_RETURN_IF_ERROR(WriteOutput(options_.json, ReportJson(options_, rows)));
    return static_cast<int>(good ? ExitCode::kDone : ExitCode::kFailed);
  }

  const TrainBenchOptions& options_;
  StopSignal stop_;
};

}  // namespace

absl::StatusOr<int> RunTrainBench(const TrainBenchOptions& options) {
  WEIR_RETURN_IF_ERROR(ProbeOutput("--json", options.json));
  return TrainBench(options).Run();
}

}  // namespace weir::bench
