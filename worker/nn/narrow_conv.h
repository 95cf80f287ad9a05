#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "worker/nn/image_layout.h"
#include "worker/nn/step.h"

namespace weir::nn {

/// The gradient of a convolution by its weights, for few input channels (one, mostly: oneDNN 2.6
/// has nothing for them on AVX2 but its reference implementation and one through a matrix product).
class NarrowConvGradient {
 public:
  static constexpr std::int64_t kFilterMultiple = 8;

  /// Of images [channels][height][width], `in`, convolved to `out`, whose block is a multiple of
  /// kFilterMultiple. Sized for the OpenMP threads that the caller has now.
  NarrowConvGradient(const ImageLayout& in, const ImageLayout& out, const Window& window);

  /// The sums over all images: `kernel_gradient` [height, width, in, filters] as Keras has it, and
  /// `bias_gradient` [filters]. Allocates nothing. The same bits for the same number of threads.
  void Run(std::int64_t images, const float* input, const float* output_gradient,
           float* kernel_gradient, float* bias_gradient);

 private:
  // What a thread works on: an image with zeros around it, so that no tap of the window needs
  // bounds, and its sums, [tap][filter] with the bias last.
  struct Worker {
    std::vector<float> padded;
    std::vector<float> sums;
  };
  void Pad(const float* image, float* padded) const;
  void Accumulate(std::int64_t first, std::int64_t end, const float* input,
                  const float* output_gradient, Worker& worker) const;

  ImageLayout in_;
  ImageLayout out_;
  Window window_;
  std::int64_t padded_height_;
  std::int64_t padded_width_;
  std::vector<std::int64_t> taps_;  // where each tap's first pixel is in the padded image
  std::vector<Worker> workers_;
};

}  // namespace weir::nn
