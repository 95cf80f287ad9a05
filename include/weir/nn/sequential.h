#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/model.h"
#include "weir/nn/layers.h"
#include "weir/tensor_spec.h"
#include "worker/nn/step.h"

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
/// A description only: it holds no weights and starts nothing. Threading: as a std::vector.
class Sequential {
 public:
  /// `input_shape` of one example, without the batch: [height, width, channels] or [features].
  explicit Sequential(std::vector<std::int64_t> input_shape);

  /// A layer that does not fit is not added: it, and every later one, is ignored and `status` says
  /// why.
  Sequential& Add(Layer layer);

  /// The first mistake, with its layer's name, or OK.
  const absl::Status& status() const { return status_; }
  /// The weights, in the order that Model wants; those before the mistake if there was one.
  const std::vector<TensorSpec>& tensors() const { return tensors_; }
  const std::vector<std::int64_t>& output_shape() const { return shape_; }

  /// A model for batches of 1 to `batch_size` examples. The full size is ready at once; the first
  /// batch of each other size builds what it needs. Runs on the threads that SetThreads (threads.h)
  /// says now. Independent of this object.
  /// Errors: kInvalidArgument: `status`, no layer, an output that is not [classes], or a batch
  ///   size below 1; kInternal if oneDNN refuses, kResourceExhausted without memory.
  absl::StatusOr<std::unique_ptr<Model>> Compile(int batch_size) const;

 private:
  absl::Status Append(const Layer& layer);
  std::string NameFor(const Layer& layer) const;

  std::vector<std::int64_t> input_shape_;
  std::vector<std::int64_t> shape_;  // of the last layer's output
  std::vector<Step> steps_;
  std::vector<TensorSpec> tensors_;
  absl::Status status_;
};

}  // namespace weir::nn
