#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "cli/status_arguments.h"
#include "common/config/options.h"
#include "common/net/ucx/version.h"
#include "common/version/version.h"
#include "doctor/options.h"

namespace weir::cli {
namespace {

int Version(std::span<const std::string>) {
  std::printf("weir %s (git %s, %s), UCX %s\n", BuildVersion(), BuildCommit(), BuildType(),
              net::UcxVersion().c_str());
  return 0;
}

}  // namespace

const std::vector<Command>& Commands() {
  static const auto* commands = new std::vector<Command>{
      {"local", "[FLAGS] [-- PROGRAM [ARGUMENTS]]",
       "a whole cluster on this machine: chief, ps, workers, evaluator", Local, LocalFlagTexts},
      {"run", "[FLAGS]", "one role of a cluster, as TF_CONFIG says", Run, RunFlagTexts},
      {"status", "--chief HOST:PORT [FLAGS]", "what a running job is doing", Status,
       StatusFlagTexts},
      {"checkpoint", "ls|show|verify|diff|export|import ...", "look at checkpoints, move them",
       Checkpoint, nullptr},
      {"config", "[run|local] [FLAGS]", "the value of every option of run or local, and its origin",
       Config, ConfigFlagTexts},
      {"bench", "latency|bandwidth|apply|train [FLAGS]", "how fast this machine and build are",
       Bench, nullptr, BenchVerbs()},
      {"doctor", "[FLAGS]", "what this host and this build can do, what is wrong, and the fix",
       Doctor, doctor::DoctorFlagTexts},
      {"version", "", "this program's version, commit and build type, and its UCX's version",
       Version, nullptr},
  };
  return *commands;
}

std::string HelpOf(const std::string& name) {
  const auto command = std::ranges::find(Commands(), name, &Command::name);
  if (command == Commands().end()) return "";
  std::string text =
      absl::StrFormat("usage: weir %s%s%s\n%s\n", name, command->synopsis.empty() ? "" : " ",
                      command->synopsis, command->summary);
  if (command->flags != nullptr) absl::StrAppend(&text, FlagsHelp(command->flags()));
  for (const Verb& verb : command->verbs) {
    absl::StrAppendFormat(&text, "  %-12s %s\n", verb.name, verb.summary);
  }
  if (!command->verbs.empty()) {
    absl::StrAppend(&text, "`weir ", name, " VERB --help` lists a verb's flags.\n");
  }
  return text;
}

std::string HelpOf(const std::string& name, const std::string& verb) {
  const auto command = std::ranges::find(Commands(), name, &Command::name);
  if (command == Commands().end()) return "";
  const auto found = std::ranges::find(command->verbs, verb, &Verb::name);
  if (found == command->verbs.end()) return "";
  return absl::StrCat("usage: weir ", name, " ", verb, " [FLAGS]\n", found->summary, "\n",
                      FlagsHelp(found->flags()));
}

}  // namespace weir::cli
