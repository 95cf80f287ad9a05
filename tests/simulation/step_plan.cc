#include "tests/simulation/step_plan.h"

#include <algorithm>
#include <utility>

namespace weir::sim {

StepPlan MakeStepPlan(Random& random, std::size_t tensors) {
  std::vector<std::size_t> order(tensors);
  for (std::size_t i = 0; i < tensors; ++i) {
    order[i] = i;
    std::swap(order[i], order[static_cast<std::size_t>(random.Int(0, static_cast<int>(i)))]);
  }
  const bool tensor_by_tensor = random.Chance(0.2);
  StepPlan plan;
  for (std::size_t i = 0; i < tensors; ++i) {
    const std::size_t tensor = tensor_by_tensor ? order[i] : i;
    if (!random.Chance(0.1)) plan.items.push_back({StepPlan::Action::kAwaitWeights, tensor});
    if (tensor_by_tensor) plan.items.push_back({StepPlan::Action::kGradientReady, tensor});
  }
  if (tensor_by_tensor) return plan;
  for (const std::size_t tensor : order) {
    plan.items.push_back({StepPlan::Action::kGradientReady, tensor});
  }
  return plan;
}

}  // namespace weir::sim
