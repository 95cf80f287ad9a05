#pragma once

#include <span>

namespace weir::bench {

/// to[i] = a[i] + factor * b[i]: STREAM's triad, a plain loop that the compiler vectorises for this
/// CPU. What a core can do with three streams of memory: the control of the optimizers' kernels.
/// All three have the same length and do not overlap.
void Triad(std::span<const float> a, std::span<const float> b, float factor, std::span<float> to);

}  // namespace weir::bench
