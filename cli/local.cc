#include <cstdio>

#include "cli/commands.h"
#include "cli/report.h"
#include "common/base/log.h"
#include "common/config/options.h"
#include "jobs/registry.h"
#include "runtime/local_cluster.h"

namespace weir::cli {

int Local(std::span<const std::string> arguments) {
  const auto parsed = ParseLocal(arguments, ProcessEnvironment());
  if (!parsed.ok()) return Fail(parsed.status());
  if (parsed->help_requested) {
    std::fputs(HelpOf("local").c_str(), stdout);
    return 0;
  }
  StartLogging("local", parsed->job.log_level, parsed->job.log_format);
  if (const auto job = CreateJob(parsed->job.job); !job.ok()) return Fail(job.status());
  const auto code = RunLocalCluster(*parsed, {"weir", "member"});
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace weir::cli
