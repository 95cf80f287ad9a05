#include "worker/nn/narrow_conv.h"

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "worker/nn/lanes.h"

namespace weir::nn {
namespace {

using Index = std::int64_t;
using Floats = EightLanes::Float;

// As many sums as fit into the 16 registers of AVX2, beside a gradient and a pixel.
constexpr int kTapsAtOnce = 9;

// One image's planes, and where the loops over its pixels go.
struct Walk {
  Index height;
  Index width;
  Index pixel;   // floats from an output pixel to the next
  Index column;  // floats from its input pixel to the next
  Index row;     // floats from an input row to the next
};

// sums[tap] += output_gradient * input at the tap, over an image, for kCount taps and 8 filters.
template <int kCount>
WEIR_NN_INLINE void AddTaps(const Walk& walk, const float* const* inputs,
                            const float* output_gradient, float* const* sums) {
  Floats sum[kCount] = {};
  for (Index y = 0; y < walk.height; ++y) {
    for (Index x = 0; x < walk.width; ++x) {
      Floats gradient;
      std::memcpy(&gradient, output_gradient + (y * walk.width + x) * walk.pixel, sizeof(gradient));
      const Index at = y * walk.row + x * walk.column;
      for (int tap = 0; tap < kCount; ++tap) sum[tap] += gradient * inputs[tap][at];
    }
  }
  for (int tap = 0; tap < kCount; ++tap) {
    Floats total;
    std::memcpy(&total, sums[tap], sizeof(total));
    total += sum[tap];
    std::memcpy(sums[tap], &total, sizeof(total));
  }
}

WEIR_NN_INLINE void AddBias(const Walk& walk, const float* output_gradient, float* sums) {
  Floats sum = {};
  Floats total;
  for (Index at = 0; at < walk.height * walk.width; ++at) {
    Floats gradient;
    std::memcpy(&gradient, output_gradient + at * walk.pixel, sizeof(gradient));
    sum += gradient;
  }
  std::memcpy(&total, sums, sizeof(total));
  total += sum;
  std::memcpy(sums, &total, sizeof(total));
}

WEIR_NN_MULTIVERSION void AddGroup(const Walk& walk, const float* padded, const Index* taps,
                                   Index tap_count, Index sum_stride, const float* output_gradient,
                                   float* sums) {
  const float* inputs[kTapsAtOnce];
  float* to[kTapsAtOnce];
  Index tap = 0;
  const auto take = [&](int count) __attribute__((always_inline)) {
    for (int i = 0; i < count; ++i) {
      inputs[i] = padded + taps[tap + i];
      to[i] = sums + (tap + i) * sum_stride;
    }
    tap += count;
  };
  while (tap + kTapsAtOnce <= tap_count) {
    take(kTapsAtOnce);
    AddTaps<kTapsAtOnce>(walk, inputs, output_gradient, to);
  }
  while (tap + 4 <= tap_count) {
    take(4);
    AddTaps<4>(walk, inputs, output_gradient, to);
  }
  while (tap < tap_count) {
    take(1);
    AddTaps<1>(walk, inputs, output_gradient, to);
  }
  AddBias(walk, output_gradient, sums + tap_count * sum_stride);
}

}  // namespace

NarrowConvGradient::NarrowConvGradient(const ImageLayout& in, const ImageLayout& out,
                                       const Window& window)
    : in_(in),
      out_(out),
      window_(window),
      padded_height_((out.height - 1) * window.stride[0] + window.size[0]),
      padded_width_((out.width - 1) * window.stride[1] + window.size[1]),
      workers_(static_cast<std::size_t>(omp_get_max_threads())) {
  for (Index y = 0; y < window.size[0]; ++y) {
    for (Index x = 0; x < window.size[1]; ++x) {
      for (Index channel = 0; channel < in.channels; ++channel) {
        taps_.push_back((channel * padded_height_ + y) * padded_width_ + x);
      }
    }
  }
  const Index filters = out.groups() * out.block;
  for (Worker& worker : workers_) {
    worker.padded.resize(static_cast<std::size_t>(in.channels * padded_height_ * padded_width_));
    worker.sums.resize((taps_.size() + 1) * static_cast<std::size_t>(filters));
  }
}

// What the padding leaves is zero from the start.
void NarrowConvGradient::Pad(const float* image, float* padded) const {
  const Index rows = std::min(in_.height, padded_height_ - window_.pad_before[0]);
  const Index columns = std::min(in_.width, padded_width_ - window_.pad_before[1]);
  for (Index channel = 0; channel < in_.channels; ++channel) {
    for (Index row = 0; row < rows; ++row) {
      std::copy_n(image + (channel * in_.height + row) * in_.width, columns,
                  padded +
                      (channel * padded_height_ + row + window_.pad_before[0]) * padded_width_ +
                      window_.pad_before[1]);
    }
  }
}

void NarrowConvGradient::Accumulate(std::int64_t first, std::int64_t end, const float* input,
                                    const float* output_gradient, Worker& worker) const {
  const Index filters = out_.groups() * out_.block;
  const Walk walk{out_.height, out_.width, out_.block, window_.stride[1],
                  window_.stride[0] * padded_width_};
  std::ranges::fill(worker.sums, 0.0F);
  for (Index image = first; image < end; ++image) {
    Pad(input + image * in_.floats(), worker.padded.data());
    const float* const gradient = output_gradient + image * out_.floats();
    for (Index filter = 0; filter < filters; filter += EightLanes::kCount) {
      const Index group = filter / out_.block;
      AddGroup(walk, worker.padded.data(), taps_.data(), static_cast<Index>(taps_.size()), filters,
               gradient + group * out_.group_floats() + filter % out_.block,
               worker.sums.data() + filter);
    }
  }
}

void NarrowConvGradient::Run(std::int64_t images, const float* input, const float* output_gradient,
                             float* kernel_gradient, float* bias_gradient) {
  const auto workers = static_cast<Index>(workers_.size());
#pragma omp parallel for schedule(static, 1)
  for (Index w = 0; w < workers; ++w) {
    Accumulate(images * w / workers, images * (w + 1) / workers, input, output_gradient,
               workers_[static_cast<std::size_t>(w)]);
  }
  const auto padded_filters = static_cast<std::size_t>(out_.groups() * out_.block);
  const auto filters = static_cast<std::size_t>(out_.channels);
  for (std::size_t tap = 0; tap <= taps_.size(); ++tap) {
    float* const to = tap < taps_.size() ? kernel_gradient + tap * filters : bias_gradient;
    for (std::size_t filter = 0; filter < filters; ++filter) {
      float sum = 0;
      for (const Worker& worker : workers_) sum += worker.sums[tap * padded_filters + filter];
      to[filter] = sum;
    }
  }
}

}  // namespace weir::nn
