#pragma once

#include <cstddef>
#include <vector>

#include "tests/simulation/random.h"

namespace weir::sim {

/// In which order a step's model comes to its tensors: when it needs their weights, and when their
/// gradients are ready.
struct StepPlan {
  enum class Action { kAwaitWeights, kGradientReady };
  struct Item {
    Action action;
    std::size_t tensor;
  };
  std::vector<Item> items;
  std::size_t next = 0;

  bool done() const { return next == items.size(); }
};

/// Forward and then backward in any order; or, now and then, tensor after tensor. Some tensors are
/// never read: their gradient may be ready before their weights have come.
StepPlan MakeStepPlan(Random& random, std::size_t tensors);

}  // namespace weir::sim
