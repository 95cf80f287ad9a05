#include "common/net/ucx/ucx_transport.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/net/sysv/mapped_memory.h"
#include "common/net/sysv/shared_memory.h"
#include "common/net/ucx/address.h"
#include "common/net/ucx/batch_format.h"
#include "common/net/ucx/memory.h"
#include "common/net/ucx/path.h"
#include "common/net/ucx/status.h"
#include "weir/exit_code.h"

namespace weir::net {
namespace {

const char* WhereToLook(UcxFabric fabric) {
  switch (fabric) {
    case UcxFabric::kTcp:
    case UcxFabric::kTcpMapped:
      return "do the devices exist, are ports of the range free?";
    case UcxFabric::kShm:
      return "`weir doctor` looks at /dev/shm, kernel.shmmax and kernel.shmall";
    case UcxFabric::kRdma:
      return "`weir doctor` shows devices, ports and the limit on locked memory, ulimit -l";
  }
  return "";
}

absl::Status WorkerError(ucs_status_t status, const UcxOptions& options) {
  std::string what = absl::StrCat("opening UCX over ", TransportsOf(options.fabric));
  if (IsTcp(options.fabric) && options.loopback_only) {
    absl::StrAppend(&what, " on lo");
  } else if (options.fabric != UcxFabric::kShm && !options.net_devices.empty()) {
    absl::StrAppend(&what, " on ", options.net_devices);
  }
  if (IsTcp(options.fabric) && !options.port_range.empty()) {
    absl::StrAppend(&what, ", ports ", options.port_range);
  }
  return WithExitCode(FromUcs(status, absl::StrCat(what, " (", WhereToLook(options.fabric), ")")),
                      ExitCode::kBadUsage);
}

UcxWaiter::Arming ArmingOf(UcxFabric fabric) {
  return fabric == UcxFabric::kRdma ? UcxWaiter::Arming::kSignalsWhatFollows
                                    : UcxWaiter::Arming::kSignalsAll;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UcxTransport>> UcxTransport::Create(const UcxOptions& options) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<UcxContext> context, UcxContext::Create(options));
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  // The owner may change, one at a time; single would bind it to the creating thread.
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucp_worker_h handle = nullptr;
  const ucs_status_t status = ucp_worker_create(context->get(), &params, &handle);
  if (status != UCS_OK) return WorkerError(status, options);
  WorkerPtr worker(handle);
  WEIR_ASSIGN_OR_RETURN(UcxWaiter waiter,
                        UcxWaiter::Create(handle, options.spin, ArmingOf(options.fabric)));
  std::unique_ptr<UcxTransport> transport(
      new UcxTransport(options, std::move(context), std::move(worker), std::move(waiter)));
  WEIR_RETURN_IF_ERROR(transport->Listen());
  return transport;
}

UcxTransport::UcxTransport(const UcxOptions& options, std::shared_ptr<UcxContext> context,
                           WorkerPtr worker, UcxWaiter waiter)
    : options_(options),
      context_(std::move(context)),
      worker_(std::move(worker)),
      waiter_(std::move(waiter)) {
  completions_.reserve(kUsualCompletions);
  resuming_.reserve(kUsualSends);
  batch_.reserve(kUsualSends);
  if (options.fabric != UcxFabric::kShm) batch_payloads_.resize(kMaxPayloadBytes);
}

absl::Status UcxTransport::Listen() {
  for (std::uint8_t type = 1; type <= kBatchMessage; ++type) {
    inbound_[type] = Inbound{this, type};
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = type;
    param.flags = UCP_AM_FLAG_WHOLE_MSG;
    param.cb = &UcxTransport::OnActiveMessage;
    param.arg = &inbound_[type];
    WEIR_RETURN_IF_ERROR(FromUcs(ucp_worker_set_am_recv_handler(worker_.get(), &param),
                                 "setting a message handler"));
  }
  return absl::OkStatus();
}

UcxTransport::~UcxTransport() {
  std::vector<PeerId> peers;
  for (const auto& [id, endpoint] : endpoints_) peers.push_back(id);
  for (const PeerId id : peers) Disconnect(id);
  const absl::Time end = MonotonicNow() + kTeardownTime;
  while (!endpoints_.empty() && MonotonicNow() < end) {
    const bool any = ProgressWorker();
    if (!CloseEndpoints() && !any) waiter_.Wait(absl::Milliseconds(10));
  }
  if (!endpoints_.empty()) {
    LogWarning("UCX did not close ", endpoints_.size(), " connections within ",
               absl::FormatDuration(kTeardownTime));
    sends_.ForEachUnderWay([this](SendOperation& operation) {
      Complete(*operation.endpoint, operation.token, UCS_ERR_CANCELED);
      operation.transport = nullptr;  // a callback that comes after all finds nobody
    });
    gets_.ForEachUnderWay([this](GetOperation& operation) {
      got_.push_back({operation.token, OutcomeOf(*operation.endpoint, UCS_ERR_CANCELED)});
      operation.transport = nullptr;
      operation.key.reset();
    });
  }
  if (last_events_ != nullptr) {
    ReportSends(*last_events_);
    ReportGets(*last_events_);
  }
  const bool half_made = std::ranges::any_of(
      endpoints_, [](const auto& entry) { return entry.second->waits_for_wire_up(); });
  if (half_made) AbandonWorker();
}

// UCX 1.13 aborts when it destroys a worker with such an endpoint, as when it closes that: the
// process's end is what frees both. UCX's own thread may go on, so what it refers to stays too.
void UcxTransport::AbandonWorker() {
  struct Abandoned {
    std::shared_ptr<UcxContext> context;
    WorkerPtr worker;
    decltype(endpoints_) endpoints;
  };
  (void)new Abandoned{context_, std::move(worker_), std::move(endpoints_)};
}

std::string UcxTransport::address() const {
  ucp_address_t* worker_address = nullptr;
  std::size_t bytes = 0;
  const ucs_status_t status = ucp_worker_get_address(worker_.get(), &worker_address, &bytes);
  if (status != UCS_OK) {
    LogError(FromUcs(status, "asking UCX for its address").ToString());
    return {};
  }
  std::string packed =
      PackUcxAddress(absl::string_view(reinterpret_cast<const char*>(worker_address), bytes));
  ucp_worker_release_address(worker_.get(), worker_address);
  return packed;
}

absl::StatusOr<std::unique_ptr<Memory>> UcxTransport::Allocate(std::size_t bytes) {
  if (SharesMemory(options_.fabric)) {
    auto shared = SysvMemory::Create(bytes);
    if (!absl::IsResourceExhausted(shared.status())) return shared;
    LogWarning("memory of ", bytes,
               " bytes is private, for nobody to map: ", shared.status().message());
  }
  return UcxMemory::Create(context_, bytes, /*remote=*/options_.fabric == UcxFabric::kRdma);
}

absl::StatusOr<std::unique_ptr<MappedMemory>> UcxTransport::Map(PeerId owner,
                                                                const std::string& key,
                                                                std::size_t bytes) {
  const UcxEndpoint* endpoint = Find(owner);
  if (endpoint == nullptr) return absl::NotFoundError("there is no such peer");
  if (!SharesMemory(options_.fabric)) {
    return absl::UnavailableError("this side maps nothing over this fabric");
  }
  if (endpoint->handle == nullptr) {
    return absl::UnavailableError(absl::StrCat("the connection to ", endpoint->name, " is lost"));
  }
  return SysvMappedMemory::Create(key, bytes, endpoint->name);
}

ucs_status_t UcxTransport::OnActiveMessage(void* inbound, const void* header,
                                           std::size_t header_bytes, void* data,
                                           std::size_t data_bytes,
                                           const ucp_am_recv_param_t* param) {
  const auto& [transport, type] = *static_cast<const Inbound*>(inbound);
  if (transport->events_ == nullptr) return UCS_OK;  // being destroyed
  // UCX looks at no limit, and our own transports send no rendezvous. Returning without fetching
  // it drops it.
  if (header_bytes > (type == kBatchMessage ? kMaxBatchHeaderBytes : kMaxHeaderBytes) ||
      data_bytes > kMaxPayloadBytes || (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    transport->Drop(
        absl::StrCat("of type ", type, " with ", header_bytes, " + ", data_bytes, " bytes"));
    return UCS_OK;
  }
  const ByteSpan its_header(static_cast<const std::byte*>(header), header_bytes);
  const ByteSpan payload(static_cast<const std::byte*>(data), data_bytes);
  if (type == kBatchMessage) {
    transport->OnBatch({.headers = its_header, .payloads = payload});
  } else {
    transport->DeliverMessage(type, its_header, payload);
  }
  return UCS_OK;
}

void UcxTransport::Drop(absl::string_view what) {
  ++dropped_messages_;
  if (const std::uint64_t times = drops_.Add(MonotonicNow()); times > 0) {
    LogWarning(
        "dropped ", times, " message(s), the last ", what, ", which weir does not send: ",
        "somebody else knows the UCX address of this process, or a member runs another build");
  }
}

void UcxTransport::DeliverMessage(std::uint8_t type, ByteSpan header, ByteSpan payload) {
  // Copied, so that its structs can be read in place: UCX aligns nothing.
  alignas(64) std::array<std::byte, kMaxHeaderBytes> aligned;
  if (!header.empty()) std::memcpy(aligned.data(), header.data(), header.size());
  events_->OnMessage(type, ByteSpan(aligned.data(), header.size()), payload);
}

bool UcxTransport::Progress(TransportEvents& events) {
  events_ = &events;
  last_events_ = &events;
  in_progress_ = true;
  bool any = ProgressWorker();
  events_ = nullptr;
  any |= StartWaiting();
  any |= StartBatches();
  any |= ReportSends(events);
  any |= ReportGets(events);
  any |= ReportDowns(events);
  any |= CloseEndpoints();
  any |= StartBatches();  // of what the reports added
  in_progress_ = false;
  if (any) waiter_.OnWork();
  return any;
}

// Once, not until there is nothing left: the round that finds nothing takes a system call over tcp,
// and what came may be what the owner waits for.
bool UcxTransport::ProgressWorker() { return ucp_worker_progress(worker_.get()) != 0; }

void UcxTransport::Wait(absl::Duration timeout) {
  const bool must_progress =
      !completions_.empty() || !got_.empty() || !downs_.empty() || !ready_.empty();
  if (must_progress || MustClose()) return;
  waiter_.Wait(timeout);
}

void UcxTransport::Wake() { waiter_.Ring(); }

std::string UcxTransport::PathTo(PeerId peer) const {
  const UcxEndpoint* endpoint = Find(peer);
  std::vector<std::string> lanes;
  if (endpoint != nullptr && (endpoint->state == UcxEndpoint::State::kUp ||
                              endpoint->state == UcxEndpoint::State::kFull)) {
    lanes = LanesOf(endpoint->handle);
  }
  if (lanes.empty()) lanes.emplace_back(TransportsOf(options_.fabric));
  return absl::StrCat("message (ucx ", absl::StrJoin(lanes, ", "), ")");
}

}  // namespace weir::net
