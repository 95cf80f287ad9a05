#include <cstdio>

#include "absl/strings/str_cat.h"
#include "bench/train/alone.h"
#include "bench/train/options.h"
#include "bench/train/train_bench.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "weir/exit_code.h"

namespace weir::cli {
namespace {

absl::StatusOr<int> Train(std::span<const std::string> arguments) {
  WEIR_ASSIGN_OR_RETURN(const bench::TrainBenchOptions options, bench::ParseTrainBench(arguments));
  if (options.help_requested) {
    std::fputs(HelpOf("bench").c_str(), stdout);
    return 0;
  }
  return bench::RunTrainBench(options);
}

/// A process of `weir bench train`.
absl::StatusOr<int> Alone(std::span<const std::string> arguments) {
  WEIR_ASSIGN_OR_RETURN(const bench::AloneOptions options, bench::ParseAlone(arguments));
  WEIR_ASSIGN_OR_RETURN(const bench::AloneResult result, bench::TrainAlone(options));
  std::printf("%s\n", result.ToJson().c_str());
  return 0;
}

absl::StatusOr<int> RunBench(std::span<const std::string> arguments) {
  const std::string what = arguments.empty() ? "" : arguments.front();
  if (what == "--help" || what == "-h") {
    std::fputs(HelpOf("bench").c_str(), stdout);
    return 0;
  }
  if (what == "train") return Train(arguments.subspan(1));
  if (what == "alone") return Alone(arguments.subspan(1));
  const bool later = what == "latency" || what == "bandwidth" || what == "apply";
  return WithExitCode(
      absl::InvalidArgumentError(
          later ? absl::StrCat("`weir bench ", what, "` is not in this version; `train` is")
                : "say what to measure: weir bench train [FLAGS]"),
      ExitCode::kBadUsage);
}

}  // namespace

int Bench(std::span<const std::string> arguments) {
  StartLogging("bench", LogLevel::kInfo);
  const auto code = RunBench(arguments);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace weir::cli
