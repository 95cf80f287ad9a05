#include <cstdio>

#include "cli/commands.h"
#include "cli/report.h"
#include "common/base/log.h"
#include "common/config/options.h"
#include "runtime/local_cluster.h"
#include "runtime/member_assignment.h"
#include "runtime/member_process.h"

namespace weir::cli {

int Run(std::span<const std::string> arguments) {
  const auto setup = LoadRun(arguments, ProcessEnvironment());
  if (!setup.ok()) return Fail(setup.status());
  const JobOptions& job = setup->arguments.job;
  if (setup->arguments.help_requested) {
    std::fputs(RunHelp().c_str(), stdout);
    return 0;
  }
  const LogLevel level = job.verbose ? LogLevel::kDebug : LogLevel::kInfo;
  const bool local = !setup->config.cluster.has_value();
  StartLogging(local ? "local" : setup->config.cluster->self.ToString(), level);
  if (!setup->config.notes.empty()) LogDebug("TF_CONFIG: ", setup->config.notes);
  const auto code = local ? RunLocalCluster({.job = job})
                          : RunMember({.cluster = *setup->config.cluster, .options = job});
  return code.ok() ? *code : Fail(code.status());
}

int Member(std::span<const std::string> arguments) {
  const auto assignment = MemberAssignment::FromArguments(arguments);
  if (!assignment.ok()) return Fail(assignment.status());
  if (absl::Status alone = DieWithParent(assignment->parent); !alone.ok()) return Fail(alone);
  const auto parsed =
      ParseRun(arguments.subspan(MemberAssignment::kArguments), ProcessEnvironment());
  if (!parsed.ok()) return Fail(parsed.status());
  StartLogging(assignment->task.ToString(),
               parsed->job.verbose ? LogLevel::kDebug : LogLevel::kInfo);
  const auto code = RunMember({.cluster = assignment->ToCluster(),
                               .options = parsed->job,
                               .ready_fd = assignment->ready_fd});
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace weir::cli
