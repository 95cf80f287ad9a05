#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/config/cluster_rules.h"
#include "common/config/mistakes.h"

namespace weir {

/// Reads TF_CONFIG's `task` beside a cluster. `task` is null where the key is missing. None when
/// even the type is unusable.
std::optional<ListedTask> ReadTfTask(const nlohmann::json* task, Mistakes& mistakes);

/// Checks a `task` without a cluster: worker 0 if anything, as TensorFlow has it.
void CheckLocalTask(const nlohmann::json* task, Mistakes& mistakes);

}  // namespace weir
