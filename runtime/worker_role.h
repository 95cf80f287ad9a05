#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "common/base/mutex.h"
#include "common/membership/session.h"
#include "runtime/role_setup.h"
#include "runtime/stop_signal.h"
#include "worker/client/data_client.h"
#include "worker/training/trainer.h"

namespace weir {

/// One worker of a cluster: reads its share of the data, joins the chief, trains until no step is
/// left, evaluates where it is asked to, and leaves with the job's end.
class WorkerRole final : private SessionListener {
 public:
  explicit WorkerRole(RoleSetup setup) : setup_(std::move(setup)) {}

  RoleEnd Run(StopSignal& stop);

 private:
  struct Inbox {
    std::optional<wire::ViewT> view;  // the newest
    std::deque<wire::EvaluateT> evaluations;
    std::optional<RoleEnd> end;
  };

  absl::StatusOr<RoleEnd> Work();
  /// The chief's word on why this worker's work failed: it names the cause, where an operation that
  /// failed names only whom it met. Where a peer was lost, the word comes within a lease.
  RoleEnd CauseOf(const absl::Status& failure);
  absl::Status Join();
  absl::StatusOr<wire::ViewT> WaitUntilReady();
  absl::StatusOr<std::unique_ptr<DataClient>> ConnectToShards(const wire::ViewT& view);
  absl::StatusOr<TrainingResult> TrainOn(DataClient& client, Model& model, BatchIterator& batches);
  void ReportPaths(const DataClient& client);
  void ReportLine(const TrainingLine& line);
  void ReportFinished(const TrainingResult& result, std::uint64_t acknowledged);
  absl::StatusOr<RoleEnd> WaitForEnd();
  void EvaluateFor(const wire::EvaluateT& request);
  void Report(wire::MemberBodyUnion body);
  /// The chief has ended the job, or is lost, or this worker was told to stop.
  bool MustEnd();
  RoleEnd Interrupted() const;

  void OnView(const wire::ViewT& view) override;
  void OnCommand(const wire::ChiefMessageT& message) override;
  void OnEnd(int exit_code, const std::string& reason) override;
  void OnLost(const absl::Status& why) override;
  void SetEnd(RoleEnd end);

  const RoleSetup setup_;
  Incarnation incarnation_;
  std::unique_ptr<Session> session_;
  Mutex mutex_;
  CondVar changed_;
  Inbox inbox_ ABSL_GUARDED_BY(mutex_);
  DataClient* client_ ABSL_GUARDED_BY(mutex_) =
      nullptr;  // while it may be told of views and the end
};

}  // namespace weir
