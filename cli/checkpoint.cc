#include <cstdio>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "common/base/log.h"
#include "common/checkpoint/describe.h"
#include "common/config/nearest.h"
#include "weir/exit_code.h"

namespace weir::cli {
namespace {

int Print(const Description& description) {
  std::fputs(description.text.c_str(), stdout);
  return description.status.ok() ? 0 : Fail(description.status);
}

int BadUsage(const std::string& what) {
  return Fail(WithExitCode(absl::InvalidArgumentError(what), ExitCode::kBadUsage));
}

}  // namespace

int Checkpoint(std::span<const std::string> arguments) {
  StartLogging("checkpoint", LogLevel::kInfo);
  const std::string usage = "usage: weir checkpoint ls DIR | show CHECKPOINT";
  if (arguments.empty()) return BadUsage(usage);
  const std::string& verb = arguments[0];
  if (verb == "--help") {
    std::puts(usage.c_str());
    return 0;
  }
  for (const char* later : {"verify", "diff", "export", "import"}) {
    if (verb == later) {
      return BadUsage(absl::StrCat("`weir checkpoint ", verb, "` is not in this version"));
    }
  }
  const std::vector<std::string> verbs = {"ls", "show"};
  if (verb != "ls" && verb != "show") {
    return BadUsage(absl::StrCat("`weir checkpoint` has no '", verb, "'", DidYouMean(verb, verbs),
                                 "\n", usage));
  }
  if (arguments.size() != 2) return BadUsage(usage);
  return Print(verb == "ls" ? DescribeModelDir(arguments[1]) : DescribeCheckpoint(arguments[1]));
}

}  // namespace weir::cli
