#pragma once

#include <optional>
#include <span>
#include <string>

#include "weir/tensor_spec.h"

namespace weir {

/// None where both have the same tensors with the same shapes, in any order. Else the first
/// difference, as "it lacks tensor 'a' [3]", with both shapes where they differ; "it" is `stored`,
/// "this job" `wanted`.
std::optional<std::string> ModelMismatch(std::span<const TensorSpec> stored,
                                         std::span<const TensorSpec> wanted);

}  // namespace weir
