#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/cpu_pins.h"
#include "common/config/environment.h"
#include "common/config/flag_table.h"
#include "common/config/job_options.h"
#include "common/config/origin.h"
#include "common/config/tf_config.h"

namespace weir {

/// What `weir run` was told.
struct RunArguments {
  JobOptions job;
  Origins origins;
  std::string config_file;      ///< empty: none
  std::string tf_config_file;   ///< empty: the variable TF_CONFIG
  bool help_requested = false;  ///< print the help and do nothing; the rest is not to be used
};

/// What `weir local` was told.
struct LocalArguments {
  JobOptions job;  ///< model_dir is empty when the caller is to pick a fresh one
  Origins origins;
  std::string config_file;  ///< empty: none
  int ps = 1;
  int workers = 1;
  bool evaluator = false;
  CpuPins pin;
  bool help_requested = false;  ///< print the help and do nothing; the rest is not to be used
};

/// Read the arguments after the subcommand's name, and the file that --config names; a flag goes
/// before the file. The token comes from --token-file, else from WEIR_TOKEN. Files are read,
/// nothing is written. Asking for help forgives every mistake.
/// Errors: kInvalidArgument (exit 2) listing every mistake at once.
absl::StatusOr<RunArguments> ParseRun(std::span<const std::string> arguments,
                                      const Environment& environment);
absl::StatusOr<LocalArguments> ParseLocal(std::span<const std::string> arguments,
                                          const Environment& environment);

/// The flags of the two, in words.
std::vector<FlagText> RunFlagTexts();
std::vector<FlagText> LocalFlagTexts();

/// Flags from which ParseRun and ParseLocal make the same options again, for a child process; every
/// field stands there, defaults too. The token does not: give the child WEIR_TOKEN.
std::vector<std::string> ToFlags(const JobOptions& job);
/// The same for a whole `weir local`.
std::vector<std::string> ToLocalFlags(const LocalArguments& arguments);

/// A whole `weir run`: its flags and the cluster they belong to.
struct RunSetup {
  RunArguments arguments;  ///< model_dir is merged with TF_CONFIG's
  TfConfig config;         ///< without a cluster: run a local one of one ps and one worker
};

/// ParseRun, LoadTfConfig and MergeModelDir in one. Errors: those of all three in one message.
absl::StatusOr<RunSetup> LoadRun(std::span<const std::string> arguments,
                                 const Environment& environment);

}  // namespace weir
