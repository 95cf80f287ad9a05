// UcxTransport's sending side: one pooled operation a send, each reported once.
#include <cstring>

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
  StartSend(*endpoint, type, header, payload, memory, token);
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
    case UcxEndpoint::State::kUp:
      return absl::OkStatus();
    case UcxEndpoint::State::kDown:
      return endpoint->failure;
    case UcxEndpoint::State::kClosing:
      return absl::CancelledError(absl::StrCat("disconnected from ", endpoint->name));
  }
  return absl::OkStatus();
}

void UcxTransport::StartSend(UcxEndpoint& endpoint, std::uint8_t type, ByteSpan header,
                             ByteSpan payload, const Memory* memory, SendToken token) {
  SendOperation* operation = sends_.Take();
  operation->token = token;
  operation->endpoint = &endpoint;
  operation->transport = this;
  if (!header.empty()) std::memcpy(operation->header.data(), header.data(), header.size());

  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK |
                       UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = &UcxTransport::OnSendDone;
  param.user_data = operation;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  if (memory != nullptr && !payload.empty()) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    param.memh = static_cast<const UcxMemory*>(memory)->handle();
  }
  ++endpoint.sends_under_way;
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(endpoint.handle, type, operation->header.data(), header.size(),
                      payload.empty() ? nullptr : payload.data(), payload.size(), &param);
  if (UCS_PTR_IS_PTR(request)) return;  // OnSendDone follows
  --endpoint.sends_under_way;
  sends_.Give(operation);
  Complete(endpoint, token, UCS_PTR_RAW_STATUS(request));
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
  } else {
    // Whatever UCX calls it, a failed send on an endpoint with error handling is a lost peer.
    completions_.push_back(
        {token, absl::UnavailableError(
                    FromUcs(status, absl::StrCat("sending to ", endpoint.name)).message())});
  }
}

bool UcxTransport::ReportSends(TransportEvents& events) {
  if (completions_.empty()) return false;
  // What the calls add is for the next round.
  reporting_.swap(completions_);
  for (const Completion& completion : reporting_) {
    events.OnSent(completion.token, completion.status);
  }
  reporting_.clear();
  return true;
}

}  // namespace weir::net
