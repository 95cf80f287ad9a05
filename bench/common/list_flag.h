#pragma once

#include <vector>

#include "common/config/flag_value.h"

namespace weir::bench {

/// Numbers that --cpus may name are below this.
inline constexpr int kMostCpus = 1024;

/// "1,2,4": at least one number, each within the range.
FlagValue ListOf(std::vector<int>& target, int least, int most);

}  // namespace weir::bench
