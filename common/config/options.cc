#include "common/config/options.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/config/command_flags.h"
#include "common/config/config_file.h"
#include "common/config/job_flags.h"
#include "common/config/mistakes.h"
#include "common/config/model_dir.h"
#include "common/config/token.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

constexpr char kRun[] = "weir run";
constexpr char kLocal[] = "weir local";

// As TensorFlow has it, who saves by steps does not also save by time unless told to.
void SettleSaving(const Origins& origins, JobOptions& job) {
  if (job.save_checkpoints_steps > 0 && !origins.contains("--save-checkpoints-secs"))
    job.save_checkpoints_secs = absl::ZeroDuration();
}

void TakeToken(const Environment& environment, Origins& origins, JobOptions& job,
               Mistakes& mistakes) {
  if (origins.contains("--token-file")) return;
  absl::StatusOr<std::string> token = TokenOf(environment);
  if (!token.ok()) return mistakes.Add(kTokenVariable, token.status().message());
  job.token = *std::move(token);
  if (!job.token.empty()) origins["--token-file"] = Origin::kEnvironment;
}

// Arguments is RunArguments or LocalArguments, `flags` its table.
template <typename Arguments>
void Read(absl::string_view subject, std::span<const std::string> arguments,
          const Environment& environment, FlagTable (*flags)(Arguments&), Arguments& result,
          Mistakes& mistakes) {
  Arguments only_flags;  // the file comes first, but the flags say which it is
  Mistakes reported_below;
  const ParsedFlags first = ParseFlags(arguments, flags(only_flags), reported_below);
  result.help_requested = first.help_requested;
  if (result.help_requested) return;
  const FlagTable table = flags(result);
  if (!only_flags.config_file.empty()) {
    for (const std::string& name : ReadConfigFile(only_flags.config_file, subject, table, mistakes))
      result.origins[name] = Origin::kFile;
  }
  const ParsedFlags parsed = ParseFlags(arguments, table, mistakes);
  for (const std::string& name : parsed.given) result.origins[name] = Origin::kFlag;
  for (const std::string& argument : parsed.positionals)
    mistakes.Add(Quoted(argument), absl::StrCat("is no flag; ", subject, " takes flags only"));
  SettleSaving(result.origins, result.job);
  TakeToken(environment, result.origins, result.job, mistakes);
}

absl::Status Joined(const absl::Status& a, const absl::Status& b) {
  if (a.ok()) return b;
  if (b.ok()) return a;
  return WithExitCode(absl::InvalidArgumentError(absl::StrCat(a.message(), "\n", b.message())),
                      ExitCode::kBadUsage);
}

// TF_CONFIG is of this one run, a file of many: its model directory gives way.
void TakeListedModelDir(RunSetup& setup) {
  Origins& origins = setup.arguments.origins;
  if (!setup.config.model_dir.has_value() || origins["--model-dir"] == Origin::kFlag) return;
  origins["--model-dir"] = Origin::kTfConfig;
  setup.arguments.job.model_dir.clear();
}

}  // namespace

absl::StatusOr<RunArguments> ParseRun(std::span<const std::string> arguments,
                                      const Environment& environment) {
  RunArguments result;
  Mistakes mistakes;
  Read(kRun, arguments, environment, RunFlags, result, mistakes);
  if (!mistakes.empty()) return mistakes.ToStatus(kRun);
  return result;
}

absl::StatusOr<LocalArguments> ParseLocal(std::span<const std::string> arguments,
                                          const Environment& environment) {
  LocalArguments result;
  Mistakes mistakes;
  Read(kLocal, arguments, environment, LocalFlags, result, mistakes);
  if (!mistakes.empty()) return mistakes.ToStatus(kLocal);
  return result;
}

std::vector<std::string> ToFlags(const JobOptions& job) {
  JobOptions copy = job;
  return ShowFlags(JobFlags(copy));
}

std::vector<std::string> ToLocalFlags(const LocalArguments& arguments) {
  LocalArguments copy = arguments;
  return ShowFlags(LocalFlags(copy));
}

absl::StatusOr<RunSetup> LoadRun(std::span<const std::string> arguments,
                                 const Environment& environment) {
  RunSetup setup;
  Mistakes mistakes;
  Read(kRun, arguments, environment, RunFlags, setup.arguments, mistakes);
  if (setup.arguments.help_requested) return setup;
  absl::StatusOr<TfConfig> config = LoadTfConfig(setup.arguments.tf_config_file, environment);
  const absl::Status both = Joined(mistakes.ToStatus(kRun), config.status());
  if (!both.ok()) return both;
  setup.config = *std::move(config);
  TakeListedModelDir(setup);
  WEIR_ASSIGN_OR_RETURN(setup.arguments.job.model_dir,
                        MergeModelDir(setup.arguments.job, setup.config));
  return setup;
}

}  // namespace weir
