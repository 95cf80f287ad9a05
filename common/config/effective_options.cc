#include "common/config/effective_options.h"

#include "common/config/command_flags.h"

namespace weir {
namespace {

std::optional<std::string> ValueOf(const Flag& flag, const JobOptions& job) {
  if (flag.name == "--token-file")
    return job.token.empty() ? std::nullopt : std::optional<std::string>("set");
  const std::optional<std::string> shown = flag.value.show();
  if (flag.value.kind == ValueKind::kSwitch) return shown.has_value() ? "true" : "false";
  return shown;
}

std::vector<EffectiveOption> Effective(const FlagTable& table, const JobOptions& job,
                                       const Origins& origins) {
  std::vector<EffectiveOption> options;
  for (const Flag& flag : table) {
    if (!flag.in_this_version) continue;
    const auto origin = origins.find(flag.name);
    options.push_back({flag.name.substr(2), flag.value.kind, ValueOf(flag, job), flag.default_text,
                       origin == origins.end() ? Origin::kDefault : origin->second});
  }
  return options;
}

}  // namespace

std::vector<EffectiveOption> EffectiveOptions(const RunArguments& arguments) {
  RunArguments copy = arguments;
  return Effective(RunFlags(copy), copy.job, copy.origins);
}

std::vector<EffectiveOption> EffectiveOptions(const LocalArguments& arguments) {
  LocalArguments copy = arguments;
  return Effective(LocalFlags(copy), copy.job, copy.origins);
}

}  // namespace weir
