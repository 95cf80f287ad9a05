#include "runtime/rdma_room.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/choice_flags.h"
#include "common/net/verbs/devices.h"
#include "common/net/verbs/locked_memory.h"
#include "common/net/verbs/usable_port.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

// What UCX 1.13 registers before it moves a byte: receive queues of 38 MiB (rc) and 20 MiB (ud),
// and send buffers.
constexpr std::size_t kUcxBytes = std::size_t{128} << 20;

absl::Status CheckDevice(const std::string& net_devices) {
  WEIR_ASSIGN_OR_RETURN(const std::string port, net::UsablePort(net::LookAtRdma(), net_devices));
  LogDebug("RDMA port ", port, " is active");
  return net::MayLock(kUcxBytes);
}

}  // namespace

std::string WhyNoRdma(const JobOptions& options) {
  TransportChoice choice = options.transport;
  if (choice == TransportChoice::kTcp || choice == TransportChoice::kShm) {
    return absl::StrCat("it runs with --transport ", *TransportValue(choice).show());
  }
  constexpr std::size_t kMostBytes = 1000;  // the chief takes little more
  const absl::Status status = CheckDevice(options.net_devices);
  return std::string(status.message().substr(0, kMostBytes));
}

absl::Status CheckRdmaRoom(const JobOptions& options) {
  TransportChoice choice = options.transport;
  if (choice != TransportChoice::kRdma && choice != TransportChoice::kRequireRdma) {
    return absl::OkStatus();
  }
  const absl::Status status = CheckDevice(options.net_devices);
  if (status.ok()) return status;
  return WithExitCode(
      absl::Status(status.code(), absl::StrCat("--transport ", *TransportValue(choice).show(), ": ",
                                               status.message())),
      ExitCode::kBadUsage);
}

}  // namespace weir
