#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "common/base/status_macros.h"
#include "common/config/effective_options.h"
#include "common/config/mistakes.h"
#include "common/config/token.h"

namespace weir::cli {
namespace {

// What the command would be run with.
struct Effective {
  std::string command;      // "run", "local"
  std::string config_file;  // empty: none
  std::string tf_config;    // where the cluster stands
  std::string task;         // empty: there is no cluster
  std::vector<EffectiveOption> options;
};

struct ConfigArguments {
  bool local = false;
  bool json = false;
  bool help = false;
  std::vector<std::string> flags;  // of the command that is asked about
};

// A flag's value never begins with "--", so these two are always the command's own.
ConfigArguments Split(std::span<const std::string> arguments) {
  ConfigArguments split;
  if (!arguments.empty() && (arguments[0] == "run" || arguments[0] == "local")) {
    split.local = arguments[0] == "local";
    arguments = arguments.subspan(1);
  }
  for (const std::string& argument : arguments) {
    if (argument == "--" && split.local) break;  // what follows is a program and its arguments
    if (argument == "--json") {
      split.json = true;
    } else if (argument == "--help" || argument == "-h") {
      split.help = true;
    } else {
      split.flags.push_back(argument);
    }
  }
  return split;
}

absl::StatusOr<Effective> Load(const ConfigArguments& arguments) {
  if (arguments.local) {
    WEIR_ASSIGN_OR_RETURN(const LocalArguments local,
                          ParseLocal(arguments.flags, ProcessEnvironment()));
    return Effective{"local", local.config_file, "", "", EffectiveOptions(local)};
  }
  WEIR_ASSIGN_OR_RETURN(const RunSetup run, LoadRun(arguments.flags, ProcessEnvironment()));
  const std::string& file = run.arguments.tf_config_file;
  return Effective{"run", run.arguments.config_file, file.empty() ? "TF_CONFIG" : file,
                   run.config.cluster.has_value() ? run.config.cluster->self.ToString() : "",
                   EffectiveOptions(run.arguments)};
}

std::string From(const EffectiveOption& option, const Effective& effective) {
  switch (option.origin) {
    case Origin::kDefault:
      return "default";
    case Origin::kFile:
      return absl::StrCat("file ", Printable(effective.config_file));
    case Origin::kTfConfig:
      return effective.tf_config == "TF_CONFIG"
                 ? "TF_CONFIG"
                 : absl::StrCat("TF_CONFIG file ", Printable(effective.tf_config));
    case Origin::kEnvironment:
      return kTokenVariable;  // the one option that a variable of its own may set
    case Origin::kFlag:
      return "flag";
  }
  return "default";
}

std::string AsText(const Effective& effective) {
  std::string text = absl::StrFormat("%-24s %-26s %s\n", "# option", "value", "from");
  for (const EffectiveOption& option : effective.options) {
    const std::string value = option.value.has_value() ? Printable(*option.value, 4096)
                              : option.default_text.empty()
                                  ? "(none)"
                                  : absl::StrCat("(", option.default_text, ")");
    absl::StrAppendFormat(&text, "%-24s %-26s %s\n", option.name, value, From(option, effective));
  }
  if (!effective.task.empty()) {
    absl::StrAppendFormat(&text, "# this process is %s of the cluster in %s\n", effective.task,
                          Printable(effective.tf_config));
  }
  return text;
}

nlohmann::ordered_json ValueOf(const EffectiveOption& option) {
  if (!option.value.has_value()) return nullptr;
  if (option.kind == ValueKind::kText) return *option.value;
  // Written by us: a number or a truth value as JSON has it.
  return nlohmann::ordered_json::parse(*option.value, nullptr, /*allow_exceptions=*/false);
}

std::string AsJson(const Effective& effective) {
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  for (const EffectiveOption& option : effective.options)
    options[option.name] = {{"value", ValueOf(option)}, {"from", From(option, effective)}};
  nlohmann::ordered_json root{{"command", effective.command}};
  root["task"] = nullptr;
  if (!effective.task.empty()) root["task"] = effective.task;
  root["options"] = options;
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

int Config(std::span<const std::string> arguments) {
  const ConfigArguments split = Split(arguments);
  if (split.help) {
    std::fputs(HelpOf("config").c_str(), stdout);
    return 0;
  }
  const auto effective = Load(split);
  // Here, and only here, all mistakes of a long list are shown.
  if (!effective.ok()) return FailInFull(effective.status());
  std::fputs((split.json ? AsJson(*effective) : AsText(*effective)).c_str(), stdout);
  return 0;
}

std::vector<FlagText> ConfigFlagTexts() {
  std::vector<FlagText> rows = RunFlagTexts();
  rows.insert(rows.begin(), {"--json", "", "the same as one JSON object", "", true});
  return rows;
}

}  // namespace weir::cli
