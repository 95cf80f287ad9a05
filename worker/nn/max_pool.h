#pragma once

#include <cstdint>

#include "worker/nn/image_layout.h"
#include "worker/nn/step.h"

namespace weir::nn {

/// Max-pooling, and ReLU of it where `relu` says so (the order of the two makes no difference).
struct MaxPool {
  ImageLayout in;
  ImageLayout out;  ///< with in's block, or nhwc
  Window window;
  bool relu;

  /// `output` gets each window's maximum, and `positions` (laid out as it) where in the window it
  /// is, the first of equals; -1 where ReLU makes it zero. A NaN counts as larger than any number,
  /// so that it shows in the loss (oneDNN's pooling loses it). Padding never wins.
  void Forward(std::int64_t images, const float* input, float* output,
               std::int32_t* positions) const;

  /// `input_gradient` gets each window's gradient at its position, the sum where windows overlap,
  /// and zero elsewhere.
  void Backward(std::int64_t images, const float* output_gradient, const std::int32_t* positions,
                float* input_gradient) const;
};

}  // namespace weir::nn
