#include "runtime/role_setup.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"
#include "common/config/choice_flags.h"
#include "common/model/protocol.h"
#include "common/net/ucx/ucx_transport.h"
#include "common/net/ucx/version.h"
#include "runtime/rdma_room.h"
#include "runtime/shared_memory_room.h"
#include "runtime/stop_signal.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

wire::Role WireRole(RoleType role) {
  switch (role) {
    case RoleType::kChief:
      return wire::Role::Chief;
    case RoleType::kWorker:
      return wire::Role::Worker;
    case RoleType::kPs:
      return wire::Role::Ps;
    case RoleType::kEvaluator:
      return wire::Role::Evaluator;
  }
  return wire::Role::Worker;
}

std::string WhyNoRdmaIn(const RoleSetup& setup) {
  // The chief would not choose it anyway (RdmaRule), so nothing needs to be tried. A program does
  // not know what its chief was told.
  const bool idle = setup.cluster.loopback_only &&
                    setup.options.transport == TransportChoice::kAuto && !setup.external();
  return idle ? "all addresses of the cluster are loopback" : WhyNoRdma(setup.options);
}

}  // namespace

absl::StatusOr<std::shared_ptr<rpc::TlsIdentity>> LoadTls(const JobOptions& options) {
  return rpc::TlsIdentity::Load(
      {.cert = options.tls_cert, .key = options.tls_key, .ca = options.tls_ca});
}

std::string SharedSettings(const RoleSetup& setup) {
  const JobOptions& o = setup.options;
  return absl::StrCat("job ", setup.job_name, ", ", setup.cluster.ps_count(), " ps",
                      o.ps_threads > 1 ? absl::StrCat(" of ", o.ps_threads, " threads") : "",
                      ", max_steps ", setup.max_steps, ", batch_size ", o.batch_size,
                      ", optimizer ", o.optimizer, ", learning_rate ", o.learning_rate, ", mode ",
                      o.mode, ", seed ", o.seed);
}

std::uint64_t SettingsFingerprint(const RoleSetup& setup) {
  const std::string text =
      absl::StrCat(SharedSettings(setup), ", layout ", setup.layout->fingerprint());
  return Checksum(std::as_bytes(std::span(text)));
}

std::string DescribeLayout(const Layout& layout) {
  constexpr std::size_t kShown = 20;
  std::string text;
  const auto tensors = layout.tensors();
  for (const TensorSpec& tensor : tensors.first(std::min(kShown, tensors.size()))) {
    absl::StrAppend(&text, absl::Utf8SafeCHexEscape(tensor.name), " [",
                    absl::StrJoin(tensor.shape, ", "), "], ");
  }
  if (tensors.size() > kShown) absl::StrAppend(&text, tensors.size() - kShown, " more, ");
  return absl::StrCat(text, layout.servers(), " ps");
}

wire::JoinRequestT JoinRequestOf(const RoleSetup& setup) {
  wire::JoinRequestT request;
  request.protocol = kProtocolVersion;
  const bool has_data_plane =
      setup.task.role == RoleType::kPs || setup.task.role == RoleType::kWorker;
  if (has_data_plane) request.ucx_version = net::UcxVersion();
  if (has_data_plane) request.no_rdma = WhyNoRdmaIn(setup);
  request.rdma = has_data_plane && request.no_rdma.empty();
  request.role = WireRole(setup.task.role);
  request.index = static_cast<std::uint32_t>(setup.task.index);
  request.incarnation = RandomId();
  request.pid = static_cast<std::uint32_t>(getpid());
  request.host_id = HostId();
  request.address = setup.own_address;
  request.job = setup.job_name;
  if (setup.external()) {
    request.job_settings = DescribeLayout(*setup.layout);
    request.layout_fingerprint = setup.layout->fingerprint();
  } else {
    request.job_settings = SharedSettings(setup);
    request.job_fingerprint = SettingsFingerprint(setup);
  }
  return request;
}

absl::Status FollowChief(const wire::JoinReplyT& welcome, RoleSetup& setup) {
  TransportChoice& transport = setup.options.transport;
  if (setup.external() && transport == TransportChoice::kAuto) {
    WEIR_RETURN_IF_ERROR(
        WithExitCode(TransportValue(transport).set(welcome.transport), ExitCode::kBadUsage));
  }
  const bool used = welcome.rdma == wire::RdmaUse::Used;
  if (transport == TransportChoice::kAuto && used) transport = TransportChoice::kRdma;
  // What else differs, the ps tells when the worker connects.
  return absl::OkStatus();
}

int PsRank(const ClusterSpec& cluster, int ps_index) {
  return static_cast<int>(std::distance(cluster.ps.begin(), cluster.ps.find(ps_index)));
}

int WorkerIndexBound(const ClusterSpec& cluster) {
  return cluster.worker.empty() ? 1 : cluster.worker.rbegin()->first + 1;
}

int WorkerRank(const ClusterSpec& cluster, int worker_index) {
  return static_cast<int>(std::distance(cluster.worker.begin(), cluster.worker.find(worker_index)));
}

namespace {

// Messages of auto go over tcp: it works wherever two processes can meet, and notices at once that
// one has died.
net::UcxFabric FabricOf(const RoleSetup& setup) {
  switch (setup.options.transport) {
    case TransportChoice::kAuto:
      return net::UcxFabric::kTcpMapped;
    // Peers on this host too (docs/decisions/0017).
    case TransportChoice::kRequireRdma:
    case TransportChoice::kRdma:
      return net::UcxFabric::kRdma;
    case TransportChoice::kTcp:
      return net::UcxFabric::kTcp;
    case TransportChoice::kShm:
      return net::UcxFabric::kShm;
  }
  return net::UcxFabric::kTcp;
}

}  // namespace

std::string TransportKind(const RoleSetup& setup) {
  switch (FabricOf(setup)) {
    case net::UcxFabric::kTcp:
    case net::UcxFabric::kTcpMapped:
      return "ucx tcp";
    case net::UcxFabric::kShm:
      return "ucx shm";
    case net::UcxFabric::kRdma:
      return "ucx rdma";
  }
  return "ucx tcp";
}

Mapping MappingOf(const RoleSetup& setup) {
  switch (setup.options.transport) {
    case TransportChoice::kAuto:
      return Mapping::kWhereItWorks;
    case TransportChoice::kTcp:
    case TransportChoice::kRequireRdma:
    case TransportChoice::kRdma:
      return Mapping::kNever;
    case TransportChoice::kShm:
      return Mapping::kRequired;
  }
  return Mapping::kNever;
}

OneSidedReads OneSidedReadsOf(const RoleSetup& setup) {
  return FabricOf(setup) == net::UcxFabric::kRdma ? OneSidedReads::kRequired
                                                  : OneSidedReads::kNever;
}

absl::StatusOr<std::unique_ptr<net::Transport>> CreateTransport(const RoleSetup& setup) {
  net::UcxOptions options;
  options.fabric = FabricOf(setup);
  if (options.fabric == net::UcxFabric::kShm) WEIR_RETURN_IF_ERROR(CheckSharedMemoryRoom(1));
  WEIR_RETURN_IF_ERROR(CheckRdmaRoom(setup.options));
  options.loopback_only = setup.cluster.loopback_only;
  options.net_devices = setup.options.net_devices;
  options.port_range = setup.options.ucx_port_range;
  return net::UcxTransport::Create(options);
}

std::string HostId() {
  std::string boot_id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return absl::StrCat(boot_id, "@", name.data());
}

RoleEnd EndOf(const absl::Status& status) {
  if (absl::IsCancelled(status) && StopSignal::received()) return {0, "told to stop"};
  return {static_cast<int>(ExitCodeOf(status)), std::string(status.message())};
}

}  // namespace weir
