#include <cstdio>
#include <functional>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "common/config/nearest.h"
#include "common/net/ucx/version.h"
#include "weir/exit_code.h"

namespace weir::cli {
namespace {

constexpr char kHelp[] =
    R"(weir: a parameter-server service. Usage: weir COMMAND [FLAGS]

  local        a whole cluster on this machine: chief, ps, workers, evaluator
  run          one role of a cluster, from TF_CONFIG
  status       what a running job is doing: weir status --chief HOST:PORT [--json]
  checkpoint   ls | show | verify | diff | export | import: look at checkpoints, move them
  version      this program's version and its UCX's

`weir COMMAND --help` lists the flags of local and run.
Exit codes: 0 done; 1 failed at run time; 2 bad arguments or configuration; 3 data or checkpoint
missing or corrupt; 4 a peer was lost and the job cannot go on; 130, 143 ended by a signal.
)";

int Help() {
  std::fputs(kHelp, stdout);
  return 0;
}

int Version() {
  std::printf("weir %s, UCX %s\n", WEIR_VERSION, net::UcxVersion().c_str());
  return 0;
}

using Command = std::function<int(std::span<const std::string>)>;

const std::map<std::string, Command>& Commands() {
  static const auto* commands = new std::map<std::string, Command>{
      {"local", Local},
      {"run", Run},
      {"status", Status},
      {"checkpoint", Checkpoint},
      {"version", [](auto) { return Version(); }},
      {"help", [](auto) { return Help(); }},
  };
  return *commands;
}

int Unknown(const std::string& name) {
  for (const char* later : {"bench", "doctor", "mode", "scale", "rebalance", "config"}) {
    if (name == later) {
      return Fail(WithExitCode(
          absl::UnimplementedError(absl::StrCat("`weir ", name, "` is not in this version")),
          ExitCode::kBadUsage));
    }
  }
  std::vector<std::string> names;
  for (const auto& [command, unused] : Commands()) names.push_back(command);
  return Fail(WithExitCode(
      absl::InvalidArgumentError(absl::StrCat("there is no command '", name, "'",
                                              DidYouMean(name, names), " (see weir --help)")),
      ExitCode::kBadUsage));
}

}  // namespace

int Dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    std::fputs(kHelp, stderr);
    return static_cast<int>(ExitCode::kBadUsage);
  }
  const std::string& name = arguments.front();
  const auto rest = std::span(arguments).subspan(1);
  if (name == "--help" || name == "-h") return Help();
  if (name == "--version") return Version();
  if (name == "member") return Member();
  const auto found = Commands().find(name);
  return found == Commands().end() ? Unknown(name) : found->second(rest);
}

}  // namespace weir::cli
