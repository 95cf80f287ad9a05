#pragma once

#include <span>
#include <string>

#include "common/config/flag_table.h"
#include "common/config/mistakes.h"

namespace weir::bench {

/// ParseFlags for a command that takes flags alone: any other argument is a mistake. Returns
/// whether help was asked for; nothing else counts then.
bool ParseOnlyFlags(std::span<const std::string> arguments, const FlagTable& table,
                    Mistakes& mistakes);

}  // namespace weir::bench
