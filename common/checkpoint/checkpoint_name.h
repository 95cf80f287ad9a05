#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/ids.h"

namespace weir {

/// "step-00001200": eight digits, more where the step has more.
std::string CheckpointFolderName(Step step);

/// The step that the last component of `path` names; none where it is not such a name, exactly as
/// CheckpointFolderName writes it.
std::optional<Step> StepOfCheckpointFolder(absl::string_view path);

}  // namespace weir
