#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::nn {

/// The cross-entropy of softmax(logits) [examples, classes] against `labels`, summed over examples.
/// `gradient` (as logits, or empty: not wanted) gets the gradient of their mean; may not overlap.
/// Labels must be in range.
double SoftmaxCrossEntropy(std::span<const float> logits, std::span<const std::int32_t> labels,
                           std::span<float> gradient);

/// How many rows of `logits` have their maximum (the first of equals) at the label.
std::int64_t CountCorrect(std::span<const float> logits, std::span<const std::int32_t> labels);

}  // namespace weir::nn
