#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/config/flag_value.h"
#include "common/config/options.h"
#include "common/config/origin.h"

namespace weir {

/// One option as a command would use it.
struct EffectiveOption {
  std::string name;  ///< "batch-size"
  ValueKind kind = ValueKind::kText;
  /// As on a command line; a switch: "true" or "false"; token-file: "set", never the token. None:
  /// nothing was chosen, and `default_text` says what that means.
  std::optional<std::string> value;
  std::string default_text;
  Origin origin = Origin::kDefault;
};

/// Every option of this version, in the order of --help.
std::vector<EffectiveOption> EffectiveOptions(const RunArguments& arguments);
std::vector<EffectiveOption> EffectiveOptions(const LocalArguments& arguments);

}  // namespace weir
