#pragma once

#include <functional>

#include "tests/simulation/sim_world.h"

namespace weir::sim {

/// Reads a checkpoint off the simulated disk in `process`, and reports what came of it, after a
/// while or, now and then, never. Nothing is reported of one that is not there.
inline void SimulateEvaluation(SimWorld& world, ProcessId process, Step step,
                               std::function<void(wire::EvaluationDoneT)> report) {
  if (world.random().Chance(world.scenario().evaluation_hang)) {
    return world.Count("evaluation hangs");
  }
  const absl::Duration takes = world.random().Upto(absl::Milliseconds(300));
  world.processes().After(process, takes, [&world, step, report = std::move(report)] {
    const SimDisk::Folder* folder = world.disk().Find(step);
    if (folder == nullptr || !folder->manifest.has_value()) {
      return world.Count("evaluation of a pruned checkpoint");
    }
    wire::EvaluationDoneT done;
    done.step = step.value();
    done.accuracy = 0.5F;
    if (world.random().Chance(world.scenario().evaluation_error)) {
      done.error = "out of memory";
      world.Count("evaluation failed");
    }
    report(std::move(done));
  });
}

}  // namespace weir::sim
