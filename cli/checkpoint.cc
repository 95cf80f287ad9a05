#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/checkpoint_verbs.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "common/base/log.h"
#include "common/checkpoint/checkpoint_directory.h"
#include "common/checkpoint/checkpoint_name.h"
#include "common/config/mistakes.h"
#include "common/config/nearest.h"
#include "weir/exit_code.h"

namespace weir::cli {
namespace {

constexpr char kHelpEnd[] =
    "`weir checkpoint VERB --help` lists a verb's flags. CKPT is a checkpoint's folder,\n"
    "MODEL_DIR/step-00001200. Exit codes: 0 done; 1 failed at run time, and of diff: not equal;\n"
    "2 bad arguments; 3 missing or corrupt.\n";

std::string Usage(const CheckpointVerb& verb) {
  return absl::StrCat(verb.name, " ", absl::StrJoin(verb.operands, " "));
}

std::string VerbsHelp() {
  std::string text = "usage: weir checkpoint VERB ...\n\n";
  for (const CheckpointVerb& verb : CheckpointVerbs()) {
    absl::StrAppendFormat(&text, "  %-23s %s\n", Usage(verb), verb.help);
  }
  return absl::StrCat(text, "\n", kHelpEnd);
}

std::string VerbsHelp(const CheckpointVerb& verb, const FlagTable& flags) {
  return absl::StrCat("usage: weir checkpoint ", Usage(verb), " [FLAGS]: ", verb.help, "\n\n",
                      FlagsHelp(Describe(flags)));
}

int UnknownVerb(const std::string& name) {
  std::vector<std::string> names;
  for (const CheckpointVerb& verb : CheckpointVerbs()) names.push_back(verb.name);
  return BadUsage(absl::StrCat("`weir checkpoint` has no ", Quoted(name), DidYouMean(name, names),
                               " (", absl::StrJoin(names, ", "), ")"));
}

/// The likeliest slip: a model directory where one of its checkpoints is meant.
absl::Status CheckIsNoModelDir(const CheckpointVerb& verb, std::span<const std::string> operands) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (verb.operands[i] == "MODEL_DIR" || StepOfCheckpointFolder(operands[i])) continue;
    const auto newest = NewestCheckpoint(operands[i]);
    if (!newest.ok() || !newest->has_value()) continue;
    return WithExitCode(
        absl::InvalidArgumentError(absl::StrCat(
            operands[i], " is a model directory: name one of its checkpoints, such as ",
            (*newest)->path)),
        ExitCode::kBadUsage);
  }
  return absl::OkStatus();
}

int RunVerb(const CheckpointVerb& verb, std::span<const std::string> arguments) {
  CheckpointFlags values;
  const FlagTable flags = verb.flags(values);
  Mistakes mistakes;
  const ParsedFlags parsed = ParseFlags(arguments, flags, mistakes);
  if (parsed.help_requested) {
    std::fputs(VerbsHelp(verb, flags).c_str(), stdout);
    return 0;
  }
  if (parsed.positionals.size() != verb.operands.size()) {
    mistakes.Add("usage", absl::StrCat("weir checkpoint ", Usage(verb), "; found ",
                                       parsed.positionals.size(), " operands"));
  }
  absl::Status status = mistakes.ToStatus(absl::StrCat("weir checkpoint ", verb.name));
  if (status.ok()) status = CheckIsNoModelDir(verb, parsed.positionals);
  return status.ok() ? verb.run(parsed.positionals, values) : Fail(status);
}

}  // namespace

int Checkpoint(std::span<const std::string> arguments) {
  StartLogging("checkpoint", LogLevel::kInfo);
  if (arguments.empty()) return BadUsage("no verb; `weir checkpoint --help` lists them");
  const std::string& name = arguments[0];
  if (name == "--help" || name == "-h") {
    std::fputs(VerbsHelp().c_str(), stdout);
    return 0;
  }
  const auto verb = std::ranges::find(CheckpointVerbs(), name, &CheckpointVerb::name);
  if (verb == CheckpointVerbs().end()) return UnknownVerb(name);
  return RunVerb(*verb, arguments.subspan(1));
}

}  // namespace weir::cli
