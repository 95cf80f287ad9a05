#include "bench/train/options.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bench/common/list_flag.h"
#include "bench/common/only_flags.h"
#include "common/base/cpu.h"
#include "common/config/choice_flags.h"
#include "common/config/flag_table.h"
#include "common/config/mistakes.h"

namespace weir::bench {
namespace {

constexpr int kMostTasks = 256;

struct Lists {
  std::vector<int> ps = {1};
  std::vector<int> workers = {1};
};

FlagTable TrainFlags(TrainBenchOptions& options, Lists& lists) {
  return {
      {"--workers", "LIST", "workers, one run a number", ListOf(lists.workers, 1, kMostTasks)},
      {"--ps", "LIST", "parameter servers: one number for all runs, or one a run",
       ListOf(lists.ps, 1, kMostTasks)},
      {"--steps", "N", "steps of each worker in each run",
       IntegerIn(options.steps, 1, std::uint64_t{1} << 32U)},
      {"--pairs", "N", "runs with and without ps, in turn", IntegerIn(options.pairs, 1, 1000)},
      {"--batch-size", "N", "examples a step", IntegerIn(options.batch_size, 1, 1 << 20)},
      {"--learning-rate", "F", "step of the optimizer; above 0",
       PositiveNumber(options.learning_rate)},
      {"--seed", "N", "of first values and shuffling",
       IntegerIn(options.seed, 0, std::numeric_limits<std::uint64_t>::max())},
      {"--transport", "auto|require-rdma|rdma|tcp|shm", "how pushes and pulls travel",
       TransportValue(options.transport)},
      {"--data-dir", "DIR", "where the data is", Text(options.data_dir), "the job's own"},
      {"--cpus", "LIST", "workers are pinned to these in turn, then ps",
       ListOf(options.cpus, 0, kMostCpus - 1), "all that this process may use"},
      {"--json", "FILE", "write the figures there too", Text(options.json)},
      {"--least-ratio", "F", "exit 1 when a median ratio is lower",
       PositiveNumber(options.least_ratio), "none"},
  };
}

FlagTable AloneTable(AloneOptions& options) {
  constexpr int kAny = std::numeric_limits<int>::max();
  return {
      {"--steps", "N", "", IntegerIn(options.steps, 1, std::uint64_t{1} << 32U)},
      {"--batch-size", "N", "", IntegerIn(options.batch_size, 1, 1 << 20)},
      {"--learning-rate", "F", "", PositiveNumber(options.learning_rate)},
      {"--seed", "N", "", IntegerIn(options.seed, 0, std::numeric_limits<std::uint64_t>::max())},
      {"--data-dir", "DIR", "", Text(options.data_dir)},
      {"--cpu", "N", "", IntegerIn(options.cpu, 0, kMostCpus - 1)},
      {"--worker", "N", "", IntegerIn(options.worker, 0, kMostTasks)},
      {"--workers", "N", "", IntegerIn(options.workers, 1, kMostTasks)},
      {"--parent", "PID", "", IntegerIn(options.parent, 0, kAny)},
  };
}

}  // namespace

absl::StatusOr<TrainBenchOptions> ParseTrainBench(std::span<const std::string> arguments) {
  TrainBenchOptions options;
  Lists lists;
  Mistakes mistakes;
  options.help_requested = ParseOnlyFlags(arguments, TrainFlags(options, lists), mistakes);
  if (options.help_requested) return options;
  if (lists.ps.size() == 1) lists.ps.resize(lists.workers.size(), lists.ps.front());
  if (lists.ps.size() != lists.workers.size()) {
    mistakes.Add("--ps", absl::StrCat("has ", lists.ps.size(), " numbers, --workers ",
                                      lists.workers.size(), "; give as many, or one"));
  }
  if (!mistakes.empty()) return mistakes.ToStatus("weir bench train");
  for (std::size_t i = 0; i < lists.workers.size(); ++i) {
    options.sizes.push_back({.ps = lists.ps[i], .workers = lists.workers[i]});
  }
  if (options.cpus.empty()) options.cpus = AllowedCpus();
  return options;
}

std::vector<FlagText> TrainBenchFlagTexts() {
  TrainBenchOptions defaults;
  Lists lists;
  return Describe(TrainFlags(defaults, lists));
}

absl::StatusOr<AloneOptions> ParseAlone(std::span<const std::string> arguments) {
  AloneOptions options;
  Mistakes mistakes;
  ParseOnlyFlags(arguments, AloneTable(options), mistakes);
  if (!mistakes.empty()) return mistakes.ToStatus("weir bench alone");
  return options;
}

std::vector<std::string> AloneFlags(const AloneOptions& options) {
  AloneOptions copy = options;
  return ShowFlags(AloneTable(copy));
}

}  // namespace weir::bench
