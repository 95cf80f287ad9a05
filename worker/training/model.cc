#include "weir/model.h"

#include "common/base/status_macros.h"

namespace weir {

absl::StatusOr<float> Model::TrainStepWith(const Batch& batch, ParameterView weights,
                                           MutableParameterView gradients, StepHooks& hooks) {
  for (std::size_t tensor = 0; tensor < weights.size(); ++tensor) {
    WEIR_RETURN_IF_ERROR(hooks.AwaitWeights(tensor));
  }
  WEIR_ASSIGN_OR_RETURN(const float loss, TrainStep(batch, weights, gradients));
  for (std::size_t tensor = gradients.size(); tensor-- > 0;) {
    WEIR_RETURN_IF_ERROR(hooks.GradientReady(tensor));
  }
  return loss;
}

}  // namespace weir
