#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/batch.h"

namespace weir {

/// One value of every tensor of a model, in the order of Job::tensors().
using ParameterView = std::span<const std::span<const float>>;
/// The same, to write to.
using MutableParameterView = std::span<const std::span<float>>;

/// What an evaluation counts; sums, so that batches add up.
struct Evaluation {
  double loss_sum = 0;        ///< over examples; the mean is loss_sum / examples
  std::int64_t correct = 0;   ///< arg max equals the label
  std::int64_t examples = 0;  ///< how many were evaluated
};

/// What a training step asks and tells on its way, on the thread that computes it, so that weights
/// arrive and gradients leave while other layers compute. A tensor is named by its index in
/// Job::tensors().
class StepHooks {
 public:
  virtual ~StepHooks() = default;
  /// Returns once weights[tensor] holds this step's value. Called before the step's first read of
  /// it; more than once is harmless.
  virtual absl::Status AwaitWeights(std::size_t tensor) = 0;
  /// gradients[tensor] is final, and the step reads weights[tensor] no more: from here on the
  /// gradient is being sent and the weights may be overwritten with the next step's. Once a tensor
  /// and step. Never waits for the network.
  virtual absl::Status GradientReady(std::size_t tensor) = 0;
};

/// A differentiable model. One thread at a time. Does not own its parameters: weights come in,
/// gradients go out, both in memory of the caller (registered with the transport).
class Model {
 public:
  virtual ~Model() = default;
  /// The mean loss of the batch's examples, and in `gradients` (overwritten) the gradient of that
  /// mean. Allocates nothing after the first call with the largest batch size.
  /// Errors: kInvalidArgument for a batch larger than the model was made for or a label out of
  /// range.
  virtual absl::StatusOr<float> TrainStep(const Batch& batch, ParameterView weights,
                                          MutableParameterView gradients) = 0;
  /// The same, with `hooks` called on the way; their first error ends the step and is returned.
  /// This default awaits all weights, computes, and then reports all gradients, last tensor first:
  /// right for any model, but nothing overlaps.
  virtual absl::StatusOr<float> TrainStepWith(const Batch& batch, ParameterView weights,
                                              MutableParameterView gradients, StepHooks& hooks);
  /// Loss and accuracy of one batch. Errors: as TrainStep.
  virtual absl::StatusOr<Evaluation> Evaluate(const Batch& batch, ParameterView weights) = 0;
};

}  // namespace weir
