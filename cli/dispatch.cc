#include <algorithm>
#include <cstdio>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "common/config/mistakes.h"
#include "common/config/nearest.h"
#include "weir/exit_code.h"

namespace weir::cli {
namespace {

constexpr char kExitCodes[] =
    R"(
`weir COMMAND --help` tells more of each, with its flags.
Exit codes: 0 done; 1 failed at run time; 2 bad arguments or configuration; 3 data or checkpoint
missing or corrupt; 4 a peer was lost and the job cannot go on; 130, 143 ended by a signal.
)";

int PrintHelp() {
  std::string text = "weir: a parameter-server service. Usage: weir COMMAND [FLAGS]\n\n";
  for (const Command& command : Commands()) {
    absl::StrAppendFormat(&text, "  %-12s %s\n", command.name, command.summary);
  }
  std::fputs(absl::StrCat(text, kExitCodes).c_str(), stdout);
  return 0;
}

int UnknownCommand(const std::string& name) {
  for (const char* later : {"mode", "scale", "rebalance"}) {
    if (name == later) return BadUsage(absl::StrCat("`weir ", name, "` is not in this version"));
  }
  std::vector<std::string> names = {"help"};
  for (const Command& command : Commands()) names.push_back(command.name);
  return BadUsage(absl::StrCat("there is no command '", Printable(name), "'",
                               DidYouMean(name, names), " (see weir --help)"));
}

}  // namespace

int Dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return BadUsage("no command; `weir --help` lists them");
  std::string name = arguments.front();
  const auto rest = std::span(arguments).subspan(1);
  if (name == "--help" || name == "-h" || name == "help") return PrintHelp();
  if (name == "--version") name = "version";
  if (name == "member") return Member();
  if (name == "generate") return Generate(rest);
  const auto found = std::ranges::find(Commands(), name, &Command::name);
  return found == Commands().end() ? UnknownCommand(name) : found->run(rest);
}

}  // namespace weir::cli
