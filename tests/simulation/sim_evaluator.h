#pragma once

#include "tests/simulation/sim_evaluation.h"
#include "tests/simulation/sim_member.h"

namespace weir::sim {

/// An evaluator: evaluates what it is told of, one at a time, always the newest.
class SimEvaluator final : public SimMember {
 public:
  using SimMember::SimMember;

 private:
  void OnCommand(const wire::ChiefMessageT& message) override {
    const auto* saved = message.body.AsCheckpointSaved();
    if (saved == nullptr) return;
    world_.Count("evaluator evaluates");
    SimulateEvaluation(world_, process(), Step(saved->step), [this](wire::EvaluationDoneT done) {
      if (!leaving()) Send(std::move(done));
    });
  }
};

}  // namespace weir::sim
