#include "bench/data/options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bench/common/list_flag.h"
#include "bench/common/only_flags.h"
#include "bench/common/sizes_flag.h"
#include "common/base/cpu.h"
#include "common/config/choice_flags.h"
#include "common/config/mistakes.h"

namespace weir::bench {
namespace {

constexpr int kMostTasks = 64;
constexpr int kMostWindow = 1024;
constexpr int kMostRounds = 100;
// Every sum of gradients must be a whole number that float32 has: 64 workers' pushes of numbers up
// to 6, and a tenth of warm-up, stay below 2^24.
constexpr std::uint64_t kMostIters = 30'000;
constexpr std::uint64_t kBytesMoved = std::uint64_t{256} << 20U;

FlagTable Flags(DataBenchOptions& options) {
  FlagTable table = {
      {"--sizes", "LIST", "bytes of a tensor, as in 8,64k,1m: one row an operation and size",
       SizesValue(options.sizes)},
      {"--transport", "auto|require-rdma|rdma|tcp|shm", "how pushes and pulls travel",
       TransportValue(options.transport)},
      {"--ps", "N", "parameter servers, a process each", IntegerIn(options.ps, 1, kMostTasks)},
      {"--ps-threads", "N", "shards of each ps, a thread and a CPU each",
       IntegerIn(options.ps_threads, 1, kMostTasks)},
      {"--workers", "N", "workers, a process each", IntegerIn(options.workers, 1, kMostTasks)},
      {"--iters", "N", "timed pushes, and pulls, of each worker",
       IntegerIn(options.iters, 1, kMostIters), "by size: 256 MiB of them, from 30 to 5000"},
      {"--rounds", "N", "pushes, pulls and controls in turn, this often; parts --iters",
       IntegerIn(options.rounds, 1, kMostRounds)},
      {"--control", "", "raw UCX between the same two processes too, and the ratios",
       Switch(options.control)},
      {"--cpus", "LIST", "workers are pinned to these in turn, then ps",
       ListOf(options.cpus, 0, kMostCpus - 1), "all that this process may use"},
      {"--json", "FILE", "write the figures there too", Text(options.json)},
      {"--plot", "FILE.svg", "draw time and bandwidth over size there", Text(options.plot)},
  };
  if (options.bench == DataBench::kBandwidth) {
    table.insert(table.begin() + 1, {"--window", "N", "operations that are outstanding at a time",
                                     IntegerIn(options.window, 1, kMostWindow)});
  }
  return table;
}

DataBenchOptions Defaults(DataBench bench) {
  DataBenchOptions options{.bench = bench, .sizes = {8, 64 << 10, 1 << 20, 16 << 20}};
  if (bench == DataBench::kBandwidth) options.window = 8;
  return options;
}

}  // namespace

std::string NameOf(DataBench bench) {
  return bench == DataBench::kLatency ? "latency" : "bandwidth";
}

absl::StatusOr<DataBenchOptions> ParseDataBench(DataBench bench,
                                                std::span<const std::string> arguments) {
  DataBenchOptions options = Defaults(bench);
  Mistakes mistakes;
  options.help_requested = ParseOnlyFlags(arguments, Flags(options), mistakes);
  if (options.help_requested) return options;
  if (!mistakes.empty()) return mistakes.ToStatus(absl::StrCat("weir bench ", NameOf(bench)));
  if (options.cpus.empty()) options.cpus = AllowedCpus();
  return options;
}

std::vector<FlagText> DataBenchFlagTexts(DataBench bench) {
  DataBenchOptions defaults = Defaults(bench);
  return Describe(Flags(defaults));
}

Rounds RoundsOf(const DataBenchOptions& options, std::uint64_t size) {
  const std::uint64_t bytes = size * static_cast<std::uint64_t>(options.window);
  const std::uint64_t iters =
      options.iters > 0 ? options.iters : std::clamp<std::uint64_t>(kBytesMoved / bytes, 30, 5000);
  const std::uint64_t count = std::min(iters, static_cast<std::uint64_t>(options.rounds));
  return {.count = static_cast<int>(count), .iters = (iters + count - 1) / count};
}

std::uint64_t WarmUpOf(std::uint64_t iters) {
  return std::max(iters / 10, std::min<std::uint64_t>(10, iters));
}

}  // namespace weir::bench
