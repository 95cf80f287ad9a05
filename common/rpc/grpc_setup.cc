#include "common/rpc/grpc_setup.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/base/log.h"
#include "common/rpc/refused_peers.h"

namespace weir::rpc {
namespace {

/// At debug level: whatever goes wrong reaches the caller as a Status too. But for peers that a
/// server refuses in the handshake: no handler ever hears of them.
void LogFromGrpc(gpr_log_func_args* record) {
  if (absl::StartsWith(record->message, "Handshake failed with fatal error")) {
    LogRefusedPeer(record->message);
  } else {
    LogDebug("gRPC: ", record->message);
  }
}

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

std::vector<std::pair<std::string, int>> FrozenPeerArguments() {
  return {
      {GRPC_ARG_HTTP2_BDP_PROBE, 0},
      // gRPC sets TCP_USER_TIMEOUT to the keepalive timeout, but only where keepalive is on. The
      // pings themselves stay off (24 days): leases bound the Session and deadlines every other
      // call, and a long --lease must not be cut short.
      {GRPC_ARG_KEEPALIVE_TIME_MS, std::numeric_limits<int>::max() - 1},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000},
  };
}

}  // namespace weir::rpc
