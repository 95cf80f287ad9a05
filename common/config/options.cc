#include "common/config/options.h"

#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/config/job_flags.h"
#include "common/config/mistakes.h"
#include "common/config/model_dir.h"
#include "common/config/token.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

constexpr char kRun[] = "weir run";
constexpr char kLocal[] = "weir local";
// A laptop's process table is the limit; a larger number is a slip of the finger.
constexpr int kMaxLocalTasks = 256;

FlagTable WithJobFlags(FlagTable table, JobOptions& job) {
  for (Flag& flag : JobFlags(job)) table.push_back(std::move(flag));
  return table;
}

FlagTable RunFlags(RunArguments& arguments) {
  return WithJobFlags({{"--tf-config", "FILE", "the cluster and this process's task",
                        Text(arguments.tf_config_file), "the variable TF_CONFIG"}},
                      arguments.job);
}

FlagTable LocalFlags(LocalArguments& arguments) {
  FlagTable table =
      WithJobFlags({{"--ps", "N", "parameter servers", IntegerIn(arguments.ps, 1, kMaxLocalTasks)},
                    {"--workers", "N", "workers", IntegerIn(arguments.workers, 1, kMaxLocalTasks)},
                    {"--evaluator", "", "an evaluator too", Switch(arguments.evaluator)}},
                   arguments.job);
  for (Flag& flag : table) {
    if (flag.name == "--model-dir") flag.default_text = "a fresh one";
  }
  return table;
}

// As TensorFlow has it, who saves by steps does not also save by time unless told to.
void SettleSaving(const std::set<std::string>& given, JobOptions& job) {
  if (job.save_checkpoints_steps > 0 && !given.contains("--save-checkpoints-secs"))
    job.save_checkpoints_secs = absl::ZeroDuration();
}

void TakeToken(const std::set<std::string>& given, const Environment& environment, JobOptions& job,
               Mistakes& mistakes) {
  if (given.contains("--token-file")) return;
  absl::StatusOr<std::string> token = TokenOf(environment);
  if (token.ok()) {
    job.token = *std::move(token);
  } else {
    mistakes.Add(kTokenVariable, token.status().message());
  }
}

// Arguments is RunArguments or LocalArguments, `table` over the fields of `result`.
template <typename Arguments>
void Read(absl::string_view subject, std::span<const std::string> arguments,
          const Environment& environment, const FlagTable& table, Arguments& result,
          Mistakes& mistakes) {
  Mistakes found;  // forgotten when all that is asked for is help
  const ParsedFlags parsed = ParseFlags(arguments, table, found);
  result.help_requested = parsed.help_requested;
  if (parsed.help_requested) return;
  for (const std::string& argument : parsed.positionals)
    found.Add(Quoted(argument), absl::StrCat("is no flag; ", subject, " takes flags only"));
  SettleSaving(parsed.given, result.job);
  TakeToken(parsed.given, environment, result.job, found);
  mistakes = std::move(found);
}

absl::Status Joined(const absl::Status& a, const absl::Status& b) {
  if (a.ok()) return b;
  if (b.ok()) return a;
  return WithExitCode(absl::InvalidArgumentError(absl::StrCat(a.message(), "\n", b.message())),
                      ExitCode::kBadUsage);
}

}  // namespace

absl::StatusOr<RunArguments> ParseRun(std::span<const std::string> arguments,
                                      const Environment& environment) {
  RunArguments result;
  Mistakes mistakes;
  Read(kRun, arguments, environment, RunFlags(result), result, mistakes);
  if (!mistakes.empty()) return mistakes.ToStatus(kRun);
  return result;
}

absl::StatusOr<LocalArguments> ParseLocal(std::span<const std::string> arguments,
                                          const Environment& environment) {
  LocalArguments result;
  Mistakes mistakes;
  Read(kLocal, arguments, environment, LocalFlags(result), result, mistakes);
  if (!mistakes.empty()) return mistakes.ToStatus(kLocal);
  return result;
}

std::vector<FlagText> RunFlagTexts() {
  RunArguments defaults;
  return Describe(RunFlags(defaults));
}

std::vector<FlagText> LocalFlagTexts() {
  LocalArguments defaults;
  return Describe(LocalFlags(defaults));
}

std::vector<std::string> ToFlags(const JobOptions& job) {
  JobOptions copy = job;
  return ShowFlags(JobFlags(copy));
}

absl::StatusOr<RunSetup> LoadRun(std::span<const std::string> arguments,
                                 const Environment& environment) {
  RunSetup setup;
  Mistakes mistakes;
  Read(kRun, arguments, environment, RunFlags(setup.arguments), setup.arguments, mistakes);
  if (setup.arguments.help_requested) return setup;
  absl::StatusOr<TfConfig> config = LoadTfConfig(setup.arguments.tf_config_file, environment);
  const absl::Status both = Joined(mistakes.ToStatus(kRun), config.status());
  if (!both.ok()) return both;
  setup.config = *std::move(config);
  WEIR_ASSIGN_OR_RETURN(setup.arguments.job.model_dir,
                        MergeModelDir(setup.arguments.job, setup.config));
  return setup;
}

}  // namespace weir
