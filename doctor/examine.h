#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/config/tf_config.h"
#include "doctor/check.h"

namespace weir::doctor {

/// Everything that `weir doctor` looks at, in the order in which it shows it. `variables`: the
/// environment as "NAME=VALUE". Ends within half a minute, whatever hangs; changes nothing on the
/// host. Threading: no other thread may run; afterwards one may still wait for a name server.
std::vector<Check> Examine(const TfConfig& config, std::span<const std::string> variables);

}  // namespace weir::doctor
