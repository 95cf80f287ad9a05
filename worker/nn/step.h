#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "weir/nn/layers.h"
#include "weir/tensor_spec.h"

namespace weir::nn {

/// A window that slides over an image, along height and width.
struct Window {
  std::int64_t size[2];
  std::int64_t stride[2];
  std::int64_t pad_before[2];
  std::int64_t pad_after[2];
};

/// A layer with its shapes known: what a layer is, without how it is computed.
struct Step {
  enum class Kind : std::uint8_t { kConv, kPool, kRelu, kFlatten, kDense };
  Kind kind;
  std::string name;               ///< of the layer
  std::vector<std::int64_t> in;   ///< of one example
  std::vector<std::int64_t> out;  ///< of one example
  Window window = {};             ///< kConv and kPool
  std::size_t kernel_tensor = 0;  ///< kConv and kDense: index of the kernel; the bias follows
  /// kConv and kDense: ReLU follows, so apply it on the way out. kRelu: its forward is done there.
  bool fused_relu = false;

  bool has_parameters() const { return kind == Kind::kConv || kind == Kind::kDense; }
};

/// The class's name in Keras, which layers without a name get: "conv2d", "max_pooling2d", ...
std::string KerasName(const Layer& layer);

/// Fits `layer` onto an input of shape `in`.
/// Errors: kInvalidArgument, naming the layer, both shapes and the way out.
absl::StatusOr<Step> MakeStep(const Layer& layer, std::string name, std::vector<std::int64_t> in);

/// The tensors of a step, kernel then bias; none for a step without parameters.
std::vector<TensorSpec> TensorsOf(const Step& step);

/// Orders steps for speed without changing a result or a gradient: ReLU goes behind max-pooling,
/// and what remains behind a convolution or dense layer is fused with it.
std::vector<Step> Schedule(const std::vector<Step>& steps);

}  // namespace weir::nn
