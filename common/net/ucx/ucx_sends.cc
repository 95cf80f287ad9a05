// UcxTransport's sending side: one pooled operation a send, each reported once.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/net/ucx/memory.h"
#include "common/net/ucx/status.h"
#include "common/net/ucx/ucx_transport.h"

namespace weir::net {

void UcxTransport::Send(PeerId peer, std::uint8_t type, ByteSpan header, ByteSpan payload,
                        const Memory* memory, SendToken token) {
  UcxEndpoint* endpoint = Find(peer);
  absl::Status status = CheckSend(endpoint, peer, type, header, payload);
  if (!status.ok()) {
    completions_.push_back({token, std::move(status)});
    return;
  }
  SendOperation* operation = sends_.Take();
  if (!header.empty()) std::memcpy(operation->header.data(), header.data(), header.size());
  operation->header_bytes = header.size();
  operation->payload = payload;
  operation->memory = memory;
  operation->token = token;
  operation->type = type;
  operation->endpoint = endpoint;
  operation->transport = this;
  Submit(*endpoint, operation);
}

void UcxTransport::Submit(UcxEndpoint& endpoint, SendOperation* operation) {
  switch (endpoint.state) {
    case UcxEndpoint::State::kConnecting:
    case UcxEndpoint::State::kFull:
      endpoint.waiting.push_back(operation);
      return;
    case UcxEndpoint::State::kUp:
      if (Batches(*operation)) return AddToBatch(endpoint, operation);
      StartBatch(endpoint);
      SubmitAlone(endpoint, operation);
      return;
    case UcxEndpoint::State::kDown:
    case UcxEndpoint::State::kClosing:
      Complete(endpoint, operation->token, UCS_ERR_CANCELED);
      sends_.Give(operation);
      return;
  }
}

void UcxTransport::SubmitAlone(UcxEndpoint& endpoint, SendOperation* operation) {
  if (endpoint.state != UcxEndpoint::State::kUp) return Submit(endpoint, operation);
  StartSend(endpoint, operation);
}

absl::Status UcxTransport::CheckSend(const UcxEndpoint* endpoint, PeerId peer, std::uint8_t type,
                                     ByteSpan header, ByteSpan payload) const {
  if (endpoint == nullptr) return CheckPeer(endpoint, peer);
  if (type == 0 || type > kMaxMessageType || header.size() > kMaxHeaderBytes ||
      payload.size() > kMaxPayloadBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of type ", type, " with ", header.size(), " + ", payload.size(),
                     " bytes to ", endpoint->name, " is beyond the limits (type 1 to ",
                     kMaxMessageType, ", ", kMaxHeaderBytes, " + ", kMaxPayloadBytes, " bytes)"));
  }
  return CheckPeer(endpoint, peer);
}

// Whether something can be started towards `peer`.
absl::Status UcxTransport::CheckPeer(const UcxEndpoint* endpoint, PeerId peer) const {
  if (endpoint == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no peer ", peer.value()));
  }
  switch (endpoint->state) {
    case UcxEndpoint::State::kConnecting:
    case UcxEndpoint::State::kUp:
    case UcxEndpoint::State::kFull:
      return absl::OkStatus();
    case UcxEndpoint::State::kDown:
      return endpoint->failure;
    case UcxEndpoint::State::kClosing:
      return absl::CancelledError(absl::StrCat("disconnected from ", endpoint->name));
  }
  return absl::OkStatus();
}

// Over tcp, UCX takes a whole message now (into the socket, and what the socket does not take into
// a buffer of its own) or not at all, and the rest waits here. Where UCX may queue a message, it
// first asks for the peer's endpoint; and UCX aborts when that question is queued, for a connection
// that is not up or a socket that is full, and the peer is dead when its turn comes: the send
// fails, which tears the connection down from within, and the question is then neither sent nor in
// the queue (wireup_ep.c, "pending_count == 0").
void UcxTransport::StartSend(UcxEndpoint& endpoint, SendOperation* operation) {
  const bool tcp = IsTcp(options_.fabric);
  ++endpoint.sends_under_way;
  ucs_status_ptr_t request = Post(endpoint, operation, tcp ? UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL : 0);
  if (tcp && UCS_PTR_RAW_STATUS(request) == UCS_ERR_NO_RESOURCE) {
    if (!Flush(endpoint)) {
      --endpoint.sends_under_way;
      if (endpoint.state == UcxEndpoint::State::kUp) endpoint.state = UcxEndpoint::State::kFull;
      Submit(endpoint, operation);
      return;
    }
    // Not full: someone's UCX_RNDV_THRESH or another UCX makes this message too long to go at once.
    request = Post(endpoint, operation, 0);
  }
  if (UCS_PTR_IS_PTR(request)) return;  // OnSendDone follows
  --endpoint.sends_under_way;
  Complete(endpoint, operation->token, UCS_PTR_RAW_STATUS(request));
  sends_.Give(operation);
}

ucs_status_ptr_t UcxTransport::Post(UcxEndpoint& endpoint, SendOperation* operation,
                                    std::uint32_t flags) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                       UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE | flags;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = &UcxTransport::OnSendDone;
  param.user_data = operation;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  const ByteSpan payload = operation->payload;
  if (operation->memory != nullptr && !payload.empty() && options_.fabric == UcxFabric::kRdma) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    param.memh = static_cast<const UcxMemory*>(operation->memory)->handle();
  }
  return ucp_am_send_nbx(endpoint.handle, operation->type, operation->header.data(),
                         operation->header_bytes, payload.empty() ? nullptr : payload.data(),
                         payload.size(), &param);
}

void UcxTransport::OnSendDone(void* request, ucs_status_t status, void* user_data) {
  auto* operation = static_cast<SendOperation*>(user_data);
  UcxTransport* transport = operation->transport;
  if (transport != nullptr) {
    UcxEndpoint& endpoint = *operation->endpoint;
    --endpoint.sends_under_way;
    transport->Complete(endpoint, operation->token, status);
    transport->sends_.Give(operation);
  }
  ucp_request_free(request);
}

void UcxTransport::Complete(const UcxEndpoint& endpoint, SendToken token, ucs_status_t status) {
  completions_.push_back({token, OutcomeOf(endpoint, status)});
}

absl::Status UcxTransport::OutcomeOf(const UcxEndpoint& endpoint, ucs_status_t status) const {
  if (status == UCS_OK) return absl::OkStatus();
  if (endpoint.state == UcxEndpoint::State::kClosing) {
    return absl::CancelledError(absl::StrCat("disconnected from ", endpoint.name));
  }
  if (!endpoint.failure.ok()) return endpoint.failure;
  // Whatever UCX calls it, a failed operation on an endpoint with error handling is a lost peer.
  return absl::UnavailableError(
      FromUcs(status, absl::StrCat("exchanging data with ", endpoint.name)).message());
}

// The sends that waited go out before any later one; some may have to wait again.
bool UcxTransport::StartWaiting() {
  if (ready_.empty()) return false;
  starting_.swap(ready_);
  for (const PeerId id : starting_) {
    UcxEndpoint* endpoint = Find(id);
    if (endpoint == nullptr || (endpoint->state != UcxEndpoint::State::kConnecting &&
                                endpoint->state != UcxEndpoint::State::kFull)) {
      continue;
    }
    endpoint->state = UcxEndpoint::State::kUp;
    resuming_.swap(endpoint->waiting);
    for (SendOperation* operation : resuming_) Submit(*endpoint, operation);
    resuming_.clear();
    StartWaitingGets(*endpoint);
  }
  starting_.clear();
  return true;
}

// UCX knows nothing of these yet.
void UcxTransport::FailWaiting(UcxEndpoint& endpoint) {
  endpoint.batch_bytes = 0;
  for (auto* queue : {&endpoint.waiting, &endpoint.batch}) {
    for (SendOperation* operation : std::exchange(*queue, {})) {
      Complete(endpoint, operation->token, UCS_ERR_CANCELED);
      sends_.Give(operation);
    }
  }
}

bool UcxTransport::ReportSends(TransportEvents& events) {
  if (completions_.empty()) return false;
  // What the calls add is for the next round.
  reporting_.swap(completions_);
  // Both have seen the same high water: a warm transport does not allocate.
  completions_.reserve(reporting_.capacity());
  for (const Completion& completion : reporting_) {
    events.OnSent(completion.token, completion.status);
  }
  reporting_.clear();
  return true;
}

}  // namespace weir::net
