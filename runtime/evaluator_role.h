#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/membership/session.h"
#include "runtime/role_setup.h"
#include "runtime/stop_signal.h"
#include "worker/training/evaluator.h"

namespace weir {

/// The evaluator of a cluster: evaluates each new checkpoint (the newest, where several came
/// meanwhile; also where the one it reads is pruned under it) and reports to the chief, by the step
/// that it evaluated; the final one last.
class EvaluatorRole final : private SessionListener {
 public:
  explicit EvaluatorRole(RoleSetup setup) : setup_(std::move(setup)) {}

  RoleEnd Run(StopSignal& stop);

 private:
  absl::StatusOr<RoleEnd> Work();
  /// The next checkpoint, or how to end.
  struct Next {
    std::optional<wire::CheckpointSavedT> checkpoint;
    std::optional<RoleEnd> end;
  };
  Next WaitForNext();
  void Evaluate(Evaluator& evaluator, const wire::CheckpointSavedT& saved);

  void OnView(const wire::ViewT& view) override;
  void OnCommand(const wire::ChiefMessageT& message) override;
  void OnEnd(int exit_code, const std::string& reason) override;
  void OnLost(const absl::Status& why) override;
  void SetEnd(RoleEnd end);

  const RoleSetup setup_;
  std::unique_ptr<Session> session_;
  std::optional<Step> evaluated_;  ///< of the last success
  Mutex mutex_;
  CondVar changed_;
  std::optional<wire::CheckpointSavedT> newest_ ABSL_GUARDED_BY(mutex_);
  std::optional<RoleEnd> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
