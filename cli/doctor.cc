#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/report.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "doctor/examine.h"
#include "doctor/options.h"
#include "doctor/report.h"
#include "weir/exit_code.h"

namespace weir::cli {
namespace {

std::vector<std::string> Variables() {
  std::vector<std::string> variables;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) variables.emplace_back(*one);
  return variables;
}

absl::StatusOr<ExitCode> RunDoctor(std::span<const std::string> arguments) {
  WEIR_ASSIGN_OR_RETURN(const doctor::DoctorOptions options, doctor::ParseDoctor(arguments));
  if (options.help_requested) {
    std::fputs(HelpOf("doctor").c_str(), stdout);
    return ExitCode::kDone;
  }
  WEIR_ASSIGN_OR_RETURN(const TfConfig config, doctor::ClusterOf(options, ProcessEnvironment()));
  const std::vector<doctor::Check> checks = doctor::Examine(config, Variables());
  std::fputs((options.json ? ReportJson(checks) : ReportText(checks)).c_str(), stdout);
  return Worst(checks) == doctor::Verdict::kFail ? ExitCode::kFailed : ExitCode::kDone;
}

}  // namespace

int Doctor(std::span<const std::string> arguments) {
  StartLogging("doctor", LogLevel::kInfo);
  const auto code = RunDoctor(arguments);
  return code.ok() ? static_cast<int>(*code) : Fail(code.status());
}

}  // namespace weir::cli
