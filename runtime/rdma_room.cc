#include "runtime/rdma_room.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/choice_flags.h"
#include "common/net/one_sided_trial.h"
#include "common/net/ucx/ucx_transport.h"
#include "common/net/verbs/devices.h"
#include "common/net/verbs/locked_memory.h"
#include "common/net/verbs/usable_port.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

// What UCX 1.13 registers before it moves a byte: receive queues of 38 MiB (rc) and 20 MiB (ud),
// and send buffers.
constexpr std::size_t kUcxBytes = std::size_t{128} << 20;

// A connection to itself and a read take milliseconds.
constexpr absl::Duration kTrialLimit = absl::Seconds(5);

absl::Status CheckDevice(const std::string& net_devices) {
  WEIR_ASSIGN_OR_RETURN(const std::string port, net::UsablePort(net::LookAtRdma(), net_devices));
  LogDebug("RDMA port ", port, " is active");
  return net::MayLock(kUcxBytes);
}

// A device may be there and active, and be of no use: of a kind that UCX knows no rc for (iWARP,
// EFA), or excluded by a UCX_ variable.
absl::Status TryDevice(const std::string& net_devices) {
  net::UcxOptions options;
  options.fabric = net::UcxFabric::kRdma;
  options.net_devices = net_devices;
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<net::Transport> transport,
                        net::UcxTransport::Create(options));
  return net::TryOneSidedRead(std::move(transport), kTrialLimit);
}

}  // namespace

std::string WhyNoRdma(const JobOptions& options) {
  TransportChoice choice = options.transport;
  if (choice == TransportChoice::kTcp || choice == TransportChoice::kShm) {
    return absl::StrCat("it runs with --transport ", *TransportValue(choice).show());
  }
  constexpr std::size_t kMostBytes = 1000;  // the chief takes little more
  absl::Status status = CheckDevice(options.net_devices);
  if (status.ok()) status = TryDevice(options.net_devices);
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
