#pragma once

#include <memory>

#include "runtime/role_setup.h"
#include "runtime/stop_signal.h"
#include "runtime/worker_member.h"
#include "worker/training/trainer.h"

namespace weir {

/// One worker of a cluster: reads its share of the data, joins the chief, trains until no step is
/// left, evaluates where it is asked to, and leaves with the job's end.
class WorkerRole {
 public:
  explicit WorkerRole(const RoleSetup& setup)
      : setup_(setup), member_(setup, &StopSignal::received) {}

  RoleEnd Run(StopSignal& stop);

 private:
  absl::StatusOr<RoleEnd> Work();
  absl::StatusOr<TrainingResult> TrainOn(DataClient& client, Model& model, BatchIterator& batches);
  void ReportLine(const TrainingLine& line);
  RoleEnd WaitForEnd();
  void EvaluateFor(const wire::EvaluateT& request);

  const RoleSetup setup_;
  WorkerMember member_;
};

}  // namespace weir
