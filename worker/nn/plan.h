#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/nn/op.h"
#include "worker/nn/step.h"

namespace weir::nn {

/// The primitives of a net for one batch size, in order. One thread at a time, and one plan of the
/// same Buffers at a time. No dnnl exception leaves it: errors name the layer.
class Plan {
 public:
  /// `input_shape` of one example; `steps` as Schedule orders them. Borrows `buffers`. With
  /// `warns`, what will be slow is logged. Errors: kInternal where oneDNN refuses;
  /// kResourceExhausted without memory.
  static absl::StatusOr<std::unique_ptr<Plan>> Create(const dnnl::engine& engine, Buffers& buffers,
                                                      const std::vector<std::int64_t>& input_shape,
                                                      const std::vector<Step>& steps, int batch,
                                                      bool warns);

  int batch() const { return batch_; }

  /// Computes the logits of `batch` examples. Awaits a layer's weights just before it computes.
  absl::Status Forward(const float* features, ParameterView weights, StepHooks& hooks);
  /// Computes the weights' gradients from `logits_gradient`, after Forward of the same weights, and
  /// reports those of a layer once nothing of this step needs the layer's weights any more.
  absl::Status Backward(MutableParameterView gradients, StepHooks& hooks);

  /// [batch, classes], until the next Forward of any plan of the same Buffers.
  std::span<const float> logits() const;
  /// To be written between Forward and Backward. Empty if the net has no weights.
  std::span<float> logits_gradient() const;

 private:
  struct NamedOp {
    std::string layer;
    std::unique_ptr<Op> op;
    std::optional<std::size_t> kernel_tensor;  // the bias follows; none without parameters
  };
  Plan(const dnnl::engine& engine, int batch) : engine_(engine), stream_(engine), batch_(batch) {}
  absl::Status AddOp(Builder& builder, const Step& step, Next next);

  dnnl::engine engine_;
  dnnl::stream stream_;
  int batch_;
  dnnl::memory features_;
  std::vector<NamedOp> ops_;
  Value output_;
};

}  // namespace weir::nn
