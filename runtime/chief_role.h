#pragma once

#include <memory>
#include <set>
#include <string>

#include "chief/service.h"
#include "common/base/mutex.h"
#include "common/base/unique_fd.h"
#include "common/rpc/server.h"
#include "runtime/model_dir_store.h"
#include "runtime/role_setup.h"
#include "runtime/stop_signal.h"

namespace weir {

/// The chief of a cluster: finds the checkpoint to start from, leads the job, writes the summary.
class ChiefRole final : public rpc::ChiefHandler {
 public:
  explicit ChiefRole(RoleSetup setup) : setup_(std::move(setup)) {}

  /// Proves the model directory, finds the newest checkpoint and begins to answer members.
  /// `own_address`: host:port where the process's gRPC server, which calls the methods below, is
  /// reached; shut it down before this is destroyed. Errors: exit 2 and 3.
  absl::Status Prepare(const std::string& own_address);
  /// Leads the job to its end. After Prepare.
  RoleEnd Run(StopSignal& stop);
  /// Ends the job in order. After Prepare; any thread.
  void RequestStop(const std::string& reason);

  // rpc::ChiefHandler: until Prepare is done callers are asked to come again.
  absl::StatusOr<wire::JoinReplyT> Join(const wire::JoinRequestT& request) override;
  absl::Status Session(rpc::MemberStream& stream) override;
  absl::StatusOr<wire::StatusReplyT> GetStatus() override;

 private:
  absl::Status FindCheckpoint();
  chief::ChiefOptions OptionsOf(const std::string& own_address) const;
  std::shared_ptr<chief::Service> service();

  const RoleSetup setup_;
  const Incarnation incarnation_{RandomId()};
  UniqueFd claim_;  // on the model directory
  std::string nonce_;
  std::string resume_;  // folder of the checkpoint to start from; empty: none
  Step start_step_;
  bool resume_is_final_ = false;
  std::unique_ptr<ModelDirStore> store_;
  Mutex mutex_;
  std::shared_ptr<chief::Service> service_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
