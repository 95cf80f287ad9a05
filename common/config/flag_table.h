#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/config/flag_value.h"
#include "common/config/mistakes.h"

namespace weir {

/// One row of an options table: all that parsing and `--help` know about a flag.
struct Flag {
  std::string name;  ///< "--batch-size"
  /// "N"; empty: the flag takes no value; in brackets: it may stand without one, `value` then gets
  /// "", and an argument after it is its value unless that begins with "-".
  std::string placeholder;
  std::string help;  ///< one line, a phrase in lower case
  FlagValue value;
  /// The default in words; empty: what the variable holds when the table is made.
  std::string default_text;
  /// False: the flag is known, and refused by its `value`, because this version lacks what it is
  /// for; `--help` lists such flags apart.
  bool in_this_version = true;
};

using FlagTable = std::vector<Flag>;

/// What a command line had beside values.
struct ParsedFlags {
  bool help_requested = false;           ///< --help or -h stood anywhere
  std::set<std::string> given;           ///< names of the table's flags
  std::vector<std::string> positionals;  ///< arguments that are no flags
};

/// Reads `--flag value` and `--flag=value` into the table's variables; a value that begins with
/// "--" needs the second form. Reported, each under its flag: unknown flags (with the nearest known
/// one), missing and superfluous values, values out of range, and flags given twice.
ParsedFlags ParseFlags(std::span<const std::string> arguments, const FlagTable& table,
                       Mistakes& mistakes);

/// One row in words, for whoever tells of flags without setting them: `--help`, a man page,
/// completion. Holds no reference to the table or its variables.
struct FlagText {
  std::string name;
  std::string placeholder;
  std::string help;
  std::string default_text;  ///< empty: nothing, or a flag without a value
  bool in_this_version = true;
};

/// The table's rows in words, and --help as the last.
std::vector<FlagText> Describe(const FlagTable& table);

/// Rows as `--help` shows them, one a line, with defaults; ends with a newline.
std::string FlagsHelp(std::span<const FlagText> rows);

/// The present values as arguments ("--seed=1") from which ParseFlags makes the same values.
std::vector<std::string> ShowFlags(const FlagTable& table);

}  // namespace weir
