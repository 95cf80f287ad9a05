#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/apply/apply_bench.h"
#include "bench/apply/options.h"
#include "bench/cluster/cluster_bench.h"
#include "bench/cluster/options.h"
#include "bench/data/data_bench.h"
#include "bench/data/options.h"
#include "bench/data/role_options.h"
#include "bench/data/shard_process.h"
#include "bench/data/worker_process.h"
#include "bench/train/alone.h"
#include "bench/train/options.h"
#include "bench/train/train_bench.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/mistakes.h"
#include "common/config/nearest.h"
#include "weir/exit_code.h"

namespace weir::cli {
namespace {

using Arguments = std::span<const std::string>;
using bench::DataBench;

/// Runs a bench with what its parser made of the arguments, or prints its help.
template <typename Options>
absl::StatusOr<int> RunOrHelp(const char* verb, const absl::StatusOr<Options>& options,
                              absl::StatusOr<int> (*run)(const Options&)) {
  WEIR_RETURN_IF_ERROR(options.status());
  if (!options->help_requested) return run(*options);
  std::fputs(HelpOf("bench", verb).c_str(), stdout);
  return 0;
}

absl::StatusOr<int> Latency(Arguments arguments) {
  return RunOrHelp("latency", ParseDataBench(DataBench::kLatency, arguments), bench::RunDataBench);
}

absl::StatusOr<int> Bandwidth(Arguments arguments) {
  return RunOrHelp("bandwidth", ParseDataBench(DataBench::kBandwidth, arguments),
                   bench::RunDataBench);
}

absl::StatusOr<int> Apply(Arguments arguments) {
  return RunOrHelp("apply", bench::ParseApplyBench(arguments), bench::RunApplyBench);
}

absl::StatusOr<int> Cluster(Arguments arguments) {
  return RunOrHelp("cluster", bench::ParseClusterBench(arguments), bench::RunClusterBench);
}

absl::StatusOr<int> Train(Arguments arguments) {
  return RunOrHelp("train", bench::ParseTrainBench(arguments), bench::RunTrainBench);
}

/// A trainer of `weir bench train`.
absl::StatusOr<int> Alone(Arguments arguments) {
  WEIR_ASSIGN_OR_RETURN(const bench::AloneOptions options, bench::ParseAlone(arguments));
  WEIR_ASSIGN_OR_RETURN(const bench::AloneResult result, bench::TrainAlone(options));
  std::printf("%s\n", result.ToJson().c_str());
  return 0;
}

/// The two sides of `weir bench latency` and `bandwidth`.
template <absl::Status (*kRun)(const bench::RoleOptions&)>
absl::StatusOr<int> Role(Arguments arguments) {
  WEIR_ASSIGN_OR_RETURN(const bench::RoleOptions options, bench::ParseRole(arguments));
  WEIR_RETURN_IF_ERROR(kRun(options));
  return 0;
}

std::vector<FlagText> LatencyFlagTexts() { return DataBenchFlagTexts(DataBench::kLatency); }
std::vector<FlagText> BandwidthFlagTexts() { return DataBenchFlagTexts(DataBench::kBandwidth); }

struct Kind {
  Verb verb;
  absl::StatusOr<int> (*run)(Arguments);
};

const std::vector<Kind>& Kinds() {
  static const auto* kinds = new std::vector<Kind>{
      {{"latency", "time of one push and of one pull, by size", LatencyFlagTexts}, Latency},
      {{"bandwidth", "pushes and pulls in a window, by size", BandwidthFlagTexts}, Bandwidth},
      {{"cluster", "pushes and pulls of a job, with a cluster that runs",
        bench::ClusterBenchFlagTexts},
       Cluster},
      {{"apply", "the optimizer's loop beside a plain one", bench::ApplyBenchFlagTexts}, Apply},
      {{"train", "a worker's steps/s with and without parameter servers",
        bench::TrainBenchFlagTexts},
       Train},
  };
  return *kinds;
}

/// Processes that a bench starts by itself: not shown to people.
const std::vector<Kind>& Parts() {
  static const auto* parts = new std::vector<Kind>{
      {{"alone"}, Alone},
      {{"shard"}, Role<bench::RunShardProcess>},
      {{"worker"}, Role<bench::RunWorkerProcess>},
  };
  return *parts;
}

absl::Status Unknown(const std::string& what) {
  std::vector<std::string> names;
  for (const Kind& kind : Kinds()) names.push_back(kind.verb.name);
  const std::string all = absl::StrJoin(names, ", ");
  if (what.empty()) return absl::InvalidArgumentError(absl::StrCat("say what to measure: ", all));
  return absl::InvalidArgumentError(
      absl::StrCat("`weir bench` has no ", Quoted(what), DidYouMean(what, names), " (", all, ")"));
}

absl::StatusOr<int> RunBench(Arguments arguments) {
  const std::string what = arguments.empty() ? "" : arguments.front();
  if (what == "--help" || what == "-h") {
    std::fputs(HelpOf("bench").c_str(), stdout);
    return 0;
  }
  for (const auto* kinds : {&Kinds(), &Parts()}) {
    const auto named = [&](const Kind& kind) { return kind.verb.name == what; };
    const auto kind = std::ranges::find_if(*kinds, named);
    if (kind != kinds->end()) return kind->run(arguments.subspan(1));
  }
  return WithExitCode(Unknown(what), ExitCode::kBadUsage);
}

}  // namespace

std::vector<Verb> BenchVerbs() {
  std::vector<Verb> verbs;
  for (const Kind& kind : Kinds()) verbs.push_back(kind.verb);
  return verbs;
}

int Bench(std::span<const std::string> arguments) {
  StartLogging("bench", LogLevel::kInfo);
  const auto code = RunBench(arguments);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace weir::cli
