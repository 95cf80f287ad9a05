#pragma once

#include <memory>
#include <set>
#include <string>

#include "chief/service.h"
#include "common/base/mutex.h"
#include "common/rpc/server.h"
#include "runtime/model_dir_store.h"
#include "runtime/role_setup.h"
#include "runtime/stop_signal.h"

namespace weir {

/// The chief of a cluster: finds the checkpoint to start from, leads the job, writes the summary.
class ChiefRole final : public rpc::ChiefHandler {
 public:
  explicit ChiefRole(RoleSetup setup) : setup_(std::move(setup)) {}

  /// Marks the model directory as this job's and finds the newest checkpoint. Errors: exit 2, 3.
  absl::Status Prepare();
  /// Leads the job to its end. `own_address`: host:port where the process's gRPC server, which
  /// calls the methods below and outlives this, is reached.
  RoleEnd Run(StopSignal& stop, const std::string& own_address);
  /// Ends the job in order. Any thread.
  void RequestStop(const std::string& reason);

  // rpc::ChiefHandler: before Run has begun callers are asked to come again.
  absl::StatusOr<wire::JoinReplyT> Join(const wire::JoinRequestT& request) override;
  absl::Status Session(rpc::MemberStream& stream) override;
  absl::StatusOr<wire::StatusReplyT> GetStatus() override;

 private:
  chief::ChiefOptions OptionsOf(const std::string& own_address) const;
  std::shared_ptr<chief::Service> service();

  const RoleSetup setup_;
  const Incarnation incarnation_{RandomId()};
  std::string nonce_;
  std::string resume_;  // folder of the checkpoint to start from; empty: none
  Step start_step_;
  bool resume_is_final_ = false;
  std::unique_ptr<ModelDirStore> store_;
  Mutex mutex_;
  std::shared_ptr<chief::Service> service_ ABSL_GUARDED_BY(mutex_);
  // What those who ask to join are told as long as there is no service.
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_) = absl::UnavailableError("the chief is starting");
};

}  // namespace weir
