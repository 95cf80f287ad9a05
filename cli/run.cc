#include <cstdio>

#include "cli/commands.h"
#include "cli/report.h"
#include "common/base/log.h"
#include "common/config/options.h"
#include "jobs/registry.h"
#include "runtime/local_cluster.h"
#include "runtime/member_process.h"
#include "weir/exit_code.h"

namespace weir::cli {

int Run(std::span<const std::string> arguments) {
  const auto setup = LoadRun(arguments, ProcessEnvironment());
  if (!setup.ok()) return Fail(setup.status());
  const JobOptions& job = setup->arguments.job;
  if (setup->arguments.help_requested) {
    std::fputs(HelpOf("run").c_str(), stdout);
    return 0;
  }
  const auto chosen = CreateJob(job.job);
  if (!chosen.ok()) return Fail(chosen.status());
  const bool local = !setup->config.cluster.has_value();
  if (local && chosen->tensors_only) {
    return Fail(WithExitCode(
        absl::InvalidArgumentError("TF_CONFIG names no cluster, and the job's workers are programs "
                                   "that use weir::Client: use `weir local --job FILE.json -- "
                                   "PROGRAM`, or write a cluster into TF_CONFIG"),
        ExitCode::kBadUsage));
  }
  StartLogging(local ? "local" : setup->config.cluster->self.ToString(), job.log_level,
               job.log_format);
  if (!setup->config.notes.empty()) LogDebug("TF_CONFIG: ", setup->config.notes);
  const auto code = local ? RunLocalCluster({.job = job}, {"weir", "member"})
                          : RunMember({.job = chosen->job.get(),
                                       .tensors_only = chosen->tensors_only,
                                       .cluster = *setup->config.cluster,
                                       .options = job});
  return code.ok() ? *code : Fail(code.status());
}

int Member() {
  const auto assignment = AssignedMember();
  if (!assignment.ok()) return Fail(assignment.status());
  if (!assignment->has_value()) {
    return Fail(WithExitCode(
        absl::InvalidArgumentError("`weir member` is for `weir local` only: use `weir run`"),
        ExitCode::kBadUsage));
  }
  const auto arguments = ParseRun((*assignment)->job_flags, ProcessEnvironment());
  if (!arguments.ok()) return Fail(arguments.status());
  const auto job = CreateJob(arguments->job.job);
  if (!job.ok()) return Fail(job.status());
  const auto code = RunAssignedMember(**assignment, *job->job, job->tensors_only);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace weir::cli
