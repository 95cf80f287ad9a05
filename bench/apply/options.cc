#include "bench/apply/options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bench/common/list_flag.h"
#include "bench/common/only_flags.h"
#include "bench/common/sizes_flag.h"
#include "common/base/cpu.h"
#include "common/config/mistakes.h"

namespace weir::bench {
namespace {

// Sums of gradients up to 6 stay whole numbers that float32 has.
constexpr std::uint64_t kMostIters = 1'000'000;
constexpr std::uint64_t kBytesCovered = std::uint64_t{1} << 30U;

FlagTable Flags(ApplyBenchOptions& options) {
  return {
      {"--sizes", "LIST", "bytes of a tensor, as in 64k,1m: rows for each",
       SizesValue(options.sizes)},
      {"--threads", "LIST", "rows for so many threads, each with a tensor of its own",
       ListOf(options.threads, 1, kMostCpus), "1,2; 1 where there is one CPU"},
      {"--iters", "N", "timed runs of each loop", IntegerIn(options.iters, 1, kMostIters),
       "by size: 1 GiB of them, from 10 to 5000"},
      {"--cpus", "LIST", "threads are pinned to these in turn",
       ListOf(options.cpus, 0, kMostCpus - 1), "all that this process may use"},
      {"--json", "FILE", "write the figures there too", Text(options.json)},
  };
}

ApplyBenchOptions Defaults() { return {.sizes = {64 << 10, 1 << 20, 16 << 20, 256 << 20}}; }

}  // namespace

absl::StatusOr<ApplyBenchOptions> ParseApplyBench(std::span<const std::string> arguments) {
  ApplyBenchOptions options = Defaults();
  Mistakes mistakes;
  options.help_requested = ParseOnlyFlags(arguments, Flags(options), mistakes);
  if (options.help_requested) return options;
  if (options.cpus.empty()) options.cpus = AllowedCpus();
  if (options.threads.empty()) {
    options.threads = options.cpus.size() > 1 ? std::vector{1, 2} : std::vector{1};
  }
  const auto most = static_cast<std::size_t>(std::ranges::max(options.threads));
  if (most > options.cpus.size()) {
    mistakes.Add("--threads", absl::StrCat("has ", most, ", but there are ", options.cpus.size(),
                                           " CPUs to pin to"));
  }
  if (!mistakes.empty()) return mistakes.ToStatus("weir bench apply");
  return options;
}

std::vector<FlagText> ApplyBenchFlagTexts() {
  ApplyBenchOptions defaults = Defaults();
  return Describe(Flags(defaults));
}

std::uint64_t ItersOf(const ApplyBenchOptions& options, std::uint64_t size) {
  if (options.iters > 0) return options.iters;
  return std::clamp<std::uint64_t>(kBytesCovered / size, 10, 5000);
}

}  // namespace weir::bench
