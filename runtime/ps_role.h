#pragma once

#include <memory>
#include <string>

#include "common/base/mutex.h"
#include "common/membership/session.h"
#include "common/rpc/server.h"
#include "ps_server/server.h"
#include "runtime/latched.h"
#include "runtime/role_setup.h"
#include "runtime/stop_signal.h"

namespace weir {

/// One ps of a cluster: joins the chief, fills its shard, serves workers until the job ends.
class PsRole final : public rpc::ShardHandler, private SessionListener {
 public:
  explicit PsRole(RoleSetup setup) : setup_(std::move(setup)) {}

  /// Runs to the job's end. `own_address`: host:port where the process's gRPC server, which calls
  /// Connect and outlives this, is reached.
  RoleEnd Run(StopSignal& stop, const std::string& own_address);

  /// rpc::ShardHandler: before the shard is filled, and after it is gone: ask again.
  absl::StatusOr<wire::ConnectReplyT> Connect(const wire::ConnectRequestT& request) override;

 private:
  absl::StatusOr<RoleEnd> Serve(StopSignal& stop);
  absl::StatusOr<std::shared_ptr<ps::Server>> CreateServer(const wire::JoinReplyT& welcome);
  RoleEnd WaitForEnd();
  void Publish(std::shared_ptr<ps::Server> server);

  void OnView(const wire::ViewT& view) override;
  void OnCommand(const wire::ChiefMessageT& message) override;
  void OnEnd(int exit_code, const std::string& reason) override;
  void OnLost(const absl::Status& why) override;

  RoleSetup setup_;
  std::unique_ptr<Session> session_;
  Latched<RoleEnd> end_;
  Mutex mutex_;
  std::shared_ptr<ps::Server> server_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
