#pragma once

#include <span>

#include "common/base/bytes.h"

namespace weir::ps {

/// to[i] = from[i] - learning_rate * gradient[i], rounded as two float32 operations (no fused
/// multiply-add, so that every CPU gives the same bits). `to` may be `from`, but must not otherwise
/// overlap it. `gradient` holds from.size() float32 of any alignment, as they came off the wire.
void ApplySgd(std::span<const float> from, std::span<float> to, ByteSpan gradient,
              float learning_rate);

}  // namespace weir::ps
