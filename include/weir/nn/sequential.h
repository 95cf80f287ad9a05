#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/model.h"
#include "weir/nn/layers.h"
#include "weir/tensor_spec.h"

namespace weir::nn {

/// A stack of layers, classified by softmax cross-entropy from the last layer's outputs (logits):
///
///   nn::Sequential net({28, 28, 1});
///   net.Add(nn::Conv2D{.filters = 32, .kernel = 3, .activation = nn::Activation::kRelu});
///   net.Add(nn::MaxPool2D{.pool = 2});
///   net.Add(nn::Flatten{});
///   net.Add(nn::Dense{.units = 10});
///   absl::StatusOr<std::unique_ptr<Model>> model = net.Compile(/*batch_size=*/256);
///
/// A description only: it holds no weights and starts nothing. A value: copies share nothing, and
/// one that was moved from may only be assigned to or destroyed. Threading: as a std::vector.
class Sequential {
 public:
  /// `input_shape` of one example, without the batch: [height, width, channels] or [features].
  explicit Sequential(std::vector<std::int64_t> input_shape);
  Sequential(const Sequential& other);                 ///< A copy of the description.
  Sequential& operator=(const Sequential& other);      ///< Likewise.
  Sequential(Sequential&& other) noexcept;             ///< Takes the description.
  Sequential& operator=(Sequential&& other) noexcept;  ///< Likewise.
  ~Sequential();

  /// A layer that does not fit is not added: it, and every later one, is ignored and `status` says
  /// why.
  Sequential& Add(const Layer& layer);

  /// The first mistake, with its layer's name, or OK.
  const absl::Status& status() const;
  /// The weights, in the order that Model wants; those before the mistake if there was one.
  const std::vector<TensorSpec>& tensors() const;
  /// Of one example, behind the last layer.
  const std::vector<std::int64_t>& output_shape() const;

  /// A model for batches of 1 to `batch_size` examples. The full size is ready at once; the first
  /// batch of each other size builds what it needs. Computes on one thread. Independent of this
  /// object.
  /// Errors: kInvalidArgument: `status`, no layer, an output that is not [classes], or a batch
  ///   size below 1; kInternal if oneDNN refuses, kResourceExhausted without memory.
  absl::StatusOr<std::unique_ptr<Model>> Compile(int batch_size) const;

 private:
  class Stack;
  std::unique_ptr<Stack> stack_;
};

}  // namespace weir::nn
