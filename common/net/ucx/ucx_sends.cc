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
  operation->memory = memory == nullptr ? nullptr : static_cast<const UcxMemory*>(memory)->handle();
  operation->token = token;
  operation->type = type;
  operation->endpoint = endpoint;
  operation->transport = this;
  if (endpoint->state == UcxEndpoint::State::kConnecting) {
    endpoint->waiting.push_back(operation);
  } else {
    StartSend(*endpoint, operation);
  }
}

absl::Status UcxTransport::CheckSend(const UcxEndpoint* endpoint, PeerId peer, std::uint8_t type,
                                     ByteSpan header, ByteSpan payload) const {
  if (endpoint == nullptr) {
    return absl::NotFoundError(absl::StrCat("there is no peer ", peer.value()));
  }
  if (type == 0 || type > kMaxMessageType || header.size() > kMaxHeaderBytes ||
      payload.size() > kMaxPayloadBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of type ", type, " with ", header.size(), " + ", payload.size(),
                     " bytes to ", endpoint->name, " is beyond the limits (type 1 to ",
                     kMaxMessageType, ", ", kMaxHeaderBytes, " + ", kMaxPayloadBytes, " bytes)"));
  }
  switch (endpoint->state) {
    case UcxEndpoint::State::kConnecting:
    case UcxEndpoint::State::kUp:
      return absl::OkStatus();
    case UcxEndpoint::State::kDown:
      return endpoint->failure;
    case UcxEndpoint::State::kClosing:
      return absl::CancelledError(absl::StrCat("disconnected from ", endpoint->name));
  }
  return absl::OkStatus();
}

void UcxTransport::StartSend(UcxEndpoint& endpoint, SendOperation* operation) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                       UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = &UcxTransport::OnSendDone;
  param.user_data = operation;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  const ByteSpan payload = operation->payload;
  if (operation->memory != nullptr && !payload.empty()) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    param.memh = operation->memory;
  }
  ++endpoint.sends_under_way;
  const ucs_status_ptr_t request = ucp_am_send_nbx(
      endpoint.handle, operation->type, operation->header.data(), operation->header_bytes,
      payload.empty() ? nullptr : payload.data(), payload.size(), &param);
  if (UCS_PTR_IS_PTR(request)) return;  // OnSendDone follows
  --endpoint.sends_under_way;
  Complete(endpoint, operation->token, UCS_PTR_RAW_STATUS(request));
  sends_.Give(operation);
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
  if (status == UCS_OK) {
    completions_.push_back({token, absl::OkStatus()});
  } else if (endpoint.state == UcxEndpoint::State::kClosing) {
    completions_.push_back(
        {token, absl::CancelledError(absl::StrCat("disconnected from ", endpoint.name))});
  } else if (!endpoint.failure.ok()) {
    completions_.push_back({token, endpoint.failure});
  } else {
    // Whatever UCX calls it, a failed send on an endpoint with error handling is a lost peer.
    completions_.push_back(
        {token, absl::UnavailableError(
                    FromUcs(status, absl::StrCat("sending to ", endpoint.name)).message())});
  }
}

// The sends that waited for their connection go out before any later one.
bool UcxTransport::StartWaiting() {
  if (connected_.empty()) return false;
  for (const PeerId id : std::exchange(connected_, {})) {
    UcxEndpoint* endpoint = Find(id);
    if (endpoint == nullptr || endpoint->state != UcxEndpoint::State::kConnecting) continue;
    endpoint->state = UcxEndpoint::State::kUp;
    for (SendOperation* operation : std::exchange(endpoint->waiting, {})) {
      StartSend(*endpoint, operation);
    }
  }
  return true;
}

// UCX knows nothing of these yet.
void UcxTransport::FailWaiting(UcxEndpoint& endpoint) {
  for (SendOperation* operation : std::exchange(endpoint.waiting, {})) {
    Complete(endpoint, operation->token, UCS_ERR_CANCELED);
    sends_.Give(operation);
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
