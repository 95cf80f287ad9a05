#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/config/flag_table.h"

namespace weir::cli {

/// One of the things that a subcommand does, where each has flags of its own.
struct Verb {
  std::string name;     ///< "latency"
  std::string summary;  ///< one line, a phrase in lower case
  std::vector<FlagText> (*flags)();
};

/// One subcommand: all that dispatch, help, a man page or completion know of it.
struct Command {
  std::string name;      ///< "local"
  std::string synopsis;  ///< what follows `weir local`: "[FLAGS]"
  std::string summary;   ///< one line, a phrase in lower case
  /// Its exit code; `arguments` are those after its name.
  int (*run)(std::span<const std::string> arguments);
  /// Its flags in words; null: it has none.
  std::vector<FlagText> (*flags)();
  /// Those that have flags of their own; `weir NAME VERB --help` prints them.
  std::vector<Verb> verbs = {};
};

/// Every subcommand of this version that a person may use, in the order of `weir --help`.
const std::vector<Command>& Commands();

/// "usage: weir NAME SYNOPSIS", what it does, and its flags: what `weir NAME --help` prints.
std::string HelpOf(const std::string& name);
/// The same of one verb: what `weir NAME VERB --help` prints.
std::string HelpOf(const std::string& name, const std::string& verb);

/// Runs `weir ARGUMENTS` and returns its exit code.
int Dispatch(const std::vector<std::string>& arguments);

// One subcommand each; `arguments` are those after its name.
int Local(std::span<const std::string> arguments);
int Run(std::span<const std::string> arguments);
/// One process of `weir local`, as WEIR_MEMBER says.
int Member();
int Status(std::span<const std::string> arguments);
int Bench(std::span<const std::string> arguments);
std::vector<Verb> BenchVerbs();
int Checkpoint(std::span<const std::string> arguments);
int Doctor(std::span<const std::string> arguments);
int Config(std::span<const std::string> arguments);
std::vector<FlagText> ConfigFlagTexts();
/// For the build: manual pages and completion. Not shown to people.
int Generate(std::span<const std::string> arguments);

}  // namespace weir::cli
