#include "bench/common/only_flags.h"

namespace weir::bench {

bool ParseOnlyFlags(std::span<const std::string> arguments, const FlagTable& table,
                    Mistakes& mistakes) {
  const ParsedFlags parsed = ParseFlags(arguments, table, mistakes);
  for (const std::string& argument : parsed.positionals) {
    mistakes.Add(Quoted(argument), "is no flag; only flags are taken");
  }
  return parsed.help_requested;
}

}  // namespace weir::bench
