#include "weir/train_and_evaluate.h"

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/options.h"
#include "runtime/local_cluster.h"
#include "runtime/member_process.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

JobOptions OptionsOf(const Job& job, const TrainSpec& train, const EvalSpec& eval,
                     const RunConfig& config) {
  JobOptions options;
  options.job = job.name();
  options.data_dir = config.data_dir;
  options.model_dir = config.model_dir;
  options.max_steps = train.max_steps;
  options.batch_size = config.batch_size;
  options.learning_rate = config.learning_rate;
  options.seed = config.seed;
  options.keep_checkpoint_max = config.keep_checkpoint_max;
  options.save_checkpoints_steps = config.save_checkpoints_steps;
  options.save_checkpoints_secs = config.save_checkpoints_secs;
  options.log_step_count_steps = config.log_step_count_steps;
  options.eval_steps = eval.steps;
  options.summary = config.summary;
  options.tls_cert = config.tls_cert;
  options.tls_key = config.tls_key;
  options.tls_ca = config.tls_ca;
  return options;
}

// The members of a local cluster are started as this process was.
std::vector<std::string> OwnCommand() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!text.empty() && text.back() == '\0') text.pop_back();
  return absl::StrSplit(text, '\0');
}

absl::StatusOr<int> RunTask(const Job& job, const JobOptions& settings) {
  WEIR_ASSIGN_OR_RETURN(const auto assignment, AssignedMember());
  if (assignment.has_value()) return RunAssignedMember(*assignment, job);
  // The same road as the command line's: every setting is checked by its row of the table.
  WEIR_ASSIGN_OR_RETURN(const RunSetup setup, LoadRun(ToFlags(settings), ProcessEnvironment()));
  const JobOptions& options = setup.arguments.job;
  if (!setup.config.cluster.has_value()) {
    StartLogging("local", LogLevel::kInfo);
    return RunLocalCluster({.job = options}, OwnCommand());
  }
  StartLogging(setup.config.cluster->self.ToString(), LogLevel::kInfo);
  return RunMember({.job = &job, .cluster = *setup.config.cluster, .options = options});
}

}  // namespace

absl::Status TrainAndEvaluate(const Job& job, const TrainSpec& train, const EvalSpec& eval,
                              const RunConfig& config) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  WEIR_ASSIGN_OR_RETURN(const int code, RunTask(job, OptionsOf(job, train, eval, config)));
  if (code == 0) return absl::OkStatus();
  return WithExitCode(
      absl::AbortedError(absl::StrCat("the job ended with exit code ", code, ": see the log")),
      static_cast<ExitCode>(code));
}

}  // namespace weir
