#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "worker/data/batch.h"

namespace weir {

/// One value of every tensor of a model, in the order of Job::tensors().
using ParameterView = std::span<const std::span<const float>>;
using MutableParameterView = std::span<const std::span<float>>;

struct Evaluation {
  double loss_sum = 0;       ///< over examples; the mean is loss_sum / examples
  std::int64_t correct = 0;  ///< arg max equals the label
  std::int64_t examples = 0;
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
  virtual absl::StatusOr<Evaluation> Evaluate(const Batch& batch, ParameterView weights) = 0;
};

}  // namespace weir
