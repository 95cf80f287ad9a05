#include "common/rpc/grpc_setup.h"

#include <grpc/support/log.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <mutex>

#include "common/base/log.h"

namespace weir::rpc {
namespace {

/// At debug level: whatever goes wrong reaches the caller as a Status too.
void LogFromGrpc(gpr_log_func_args* record) { LogDebug("gRPC: ", record->message); }

}  // namespace

void SetUpGrpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function(&LogFromGrpc);
    grpc::EnableDefaultHealthCheckService(true);  // not thread-safe by itself
  });
}

gpr_timespec DeadlineAfter(absl::Duration timeout) {
  const auto bounded = std::clamp(timeout, absl::ZeroDuration(), absl::Hours(24 * 365));
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_micros(absl::ToInt64Microseconds(bounded), GPR_TIMESPAN));
}

}  // namespace weir::rpc
