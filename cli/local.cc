#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/options.h"
#include "jobs/registry.h"
#include "runtime/local_cluster.h"
#include "weir/exit_code.h"

namespace weir::cli {
namespace {

// What no flag can tell: whether the job, the evaluator and the program go together.
absl::Status CheckWorkers(const LocalArguments& arguments, bool has_program) {
  WEIR_ASSIGN_OR_RETURN(const ChosenJob chosen, CreateJob(arguments.job.job));
  const auto bad = [&](absl::string_view what) {
    return WithExitCode(
        absl::InvalidArgumentError(absl::StrCat("--job ", arguments.job.job, ": ", what)),
        ExitCode::kBadUsage);
  };
  if (!chosen.tensors_only) return absl::OkStatus();
  if (!has_program) {
    return bad(
        "it has tensors only; its workers are programs that use weir::Client: write -- PROGRAM "
        "ARGUMENTS at the end");
  }
  if (arguments.evaluator) return bad("it has no data to evaluate; leave out --evaluator");
  return absl::OkStatus();
}

}  // namespace

int Local(std::span<const std::string> arguments) {
  const auto dashes = std::ranges::find(arguments, "--");
  const bool has_program = dashes != arguments.end();
  const std::vector<std::string> program(has_program ? dashes + 1 : dashes, arguments.end());
  const auto parsed = ParseLocal(
      arguments.first(static_cast<std::size_t>(dashes - arguments.begin())), ProcessEnvironment());
  if (!parsed.ok()) return Fail(parsed.status());
  if (parsed->help_requested) {
    std::fputs(HelpOf("local").c_str(), stdout);
    return 0;
  }
  if (has_program && program.empty()) {
    return Fail(WithExitCode(absl::InvalidArgumentError("-- stands at the end; write -- PROGRAM"),
                             ExitCode::kBadUsage));
  }
  StartLogging("local", parsed->job.log_level, parsed->job.log_format);
  if (const absl::Status status = CheckWorkers(*parsed, has_program); !status.ok()) {
    return Fail(status);
  }
  const auto code = RunLocalCluster(*parsed, {"weir", "member"}, program);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace weir::cli
