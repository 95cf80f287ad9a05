#include "doctor/options.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/config/flag_value.h"
#include "common/config/mistakes.h"
#include "common/config/small_file.h"

namespace weir::doctor {
namespace {

// A cluster is written by people; anything larger is something else.
constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

FlagTable DoctorFlags(DoctorOptions& options) {
  return {
      {"--json", "", "one JSON object: checks and the result", Switch(options.json)},
      {"--tf-config", "FILE", "the cluster whose addresses to look for",
       Text(options.tf_config_file), "the variable TF_CONFIG"},
  };
}

}  // namespace

absl::StatusOr<DoctorOptions> ParseDoctor(std::span<const std::string> arguments) {
  DoctorOptions options;
  Mistakes mistakes;
  const ParsedFlags parsed = ParseFlags(arguments, DoctorFlags(options), mistakes);
  options.help_requested = parsed.help_requested;
  if (options.help_requested) return options;
  for (const std::string& argument : parsed.positionals) {
    mistakes.Add(Quoted(argument), "is no flag; weir doctor takes flags only");
  }
  if (!mistakes.empty()) return mistakes.ToStatus("weir doctor");
  return options;
}

std::vector<FlagText> DoctorFlagTexts() {
  DoctorOptions defaults;
  return Describe(DoctorFlags(defaults));
}

absl::StatusOr<TfConfig> ClusterOf(const DoctorOptions& options, const Environment& environment) {
  const std::string& file = options.tf_config_file;
  if (file.empty()) return LoadTfConfig("", environment);
  const absl::StatusOr<std::string> text = ReadSmallFile(file, kMostBytes);
  if (text.ok()) return ParseTfConfig(*text, file);
  Mistakes mistakes;
  mistakes.Add("--tf-config",
               absl::StrCat(Quoted(file), " cannot be read: ", text.status().message()));
  return mistakes.ToStatus("weir doctor");
}

}  // namespace weir::doctor
