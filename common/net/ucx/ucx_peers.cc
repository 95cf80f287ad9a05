// UcxTransport's peers: how they come, fail and go.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/address.h"
#include "common/net/ucx/status.h"
#include "common/net/ucx/ucx_transport.h"

namespace weir::net {

UcxEndpoint* UcxTransport::Find(PeerId peer) const {
  const auto found = endpoints_.find(peer);
  return found == endpoints_.end() ? nullptr : found->second.get();
}

absl::StatusOr<PeerId> UcxTransport::Connect(const std::string& address, const std::string& name) {
  WEIR_ASSIGN_OR_RETURN(const std::string worker_address, UnpackUcxAddress(address));
  last_peer_ = last_peer_.next();
  auto endpoint = std::make_unique<UcxEndpoint>();
  endpoint->waiting.reserve(kUsualSends);
  endpoint->batch.reserve(kUsualSends);
  endpoint->id = last_peer_;
  endpoint->name = name;
  endpoint->transport = this;

  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(worker_address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &UcxTransport::OnEndpointError;
  params.err_handler.arg = endpoint.get();
  const ucs_status_t status = ucp_ep_create(worker_.get(), &params, &endpoint->handle);
  if (status == UCS_OK) {
    if (Flush(*endpoint)) ready_.push_back(endpoint->id);
  } else {
    endpoint->handle = nullptr;
    MarkDown(*endpoint, status);
  }
  endpoints_.emplace(last_peer_, std::move(endpoint));
  for (std::vector<PeerId>* peers : {&ready_, &starting_, &batching_}) {
    peers->reserve(endpoints_.size());
  }
  return last_peer_;
}

// Whether nothing is left to flush. Otherwise the endpoint is ready, or down, when OnFlushed is
// called: UCX completes a flush only once it is connected and nothing waits for the socket.
bool UcxTransport::Flush(UcxEndpoint& endpoint) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = &UcxTransport::OnFlushed;
  param.user_data = &endpoint;
  const ucs_status_ptr_t request = ucp_ep_flush_nbx(endpoint.handle, &param);
  if (UCS_PTR_IS_PTR(request)) {
    endpoint.flush_under_way = true;
  } else if (UCS_PTR_IS_ERR(request)) {
    MarkDown(endpoint, UCS_PTR_RAW_STATUS(request));
  } else {
    return true;
  }
  return false;
}

void UcxTransport::OnFlushed(void* request, ucs_status_t status, void* user_data) {
  auto& endpoint = *static_cast<UcxEndpoint*>(user_data);
  endpoint.flush_under_way = false;
  if (status == UCS_OK) {
    endpoint.transport->ready_.push_back(endpoint.id);
  } else {
    endpoint.transport->MarkDown(endpoint, status);
  }
  ucp_request_free(request);
}

void UcxTransport::OnEndpointError(void* endpoint, ucp_ep_h, ucs_status_t status) {
  auto& failed = *static_cast<UcxEndpoint*>(endpoint);
  failed.transport->MarkDown(failed, status);
}

void UcxTransport::MarkDown(UcxEndpoint& endpoint, ucs_status_t status) {
  if (endpoint.state == UcxEndpoint::State::kDown ||
      endpoint.state == UcxEndpoint::State::kClosing) {
    return;
  }
  endpoint.state = UcxEndpoint::State::kDown;
  endpoint.failure = absl::UnavailableError(
      FromUcs(status, absl::StrCat("the connection to ", endpoint.name, " is lost")).message());
  downs_.push_back(endpoint.id);
  FailWaiting(endpoint);
  FailWaitingGets(endpoint);
}

bool UcxTransport::ReportDowns(TransportEvents& events) {
  if (downs_.empty()) return false;
  for (const PeerId id : std::exchange(downs_, {})) {
    const UcxEndpoint* endpoint = Find(id);
    if (endpoint == nullptr || endpoint->state != UcxEndpoint::State::kDown) continue;
    // A copy: the call may disconnect the peer.
    const absl::Status failure = endpoint->failure;
    events.OnPeerDown(id, failure);
  }
  return true;
}

void UcxTransport::Disconnect(PeerId peer) {
  UcxEndpoint* endpoint = Find(peer);
  if (endpoint == nullptr || endpoint->state == UcxEndpoint::State::kClosing) return;
  // UCX 1.13 aborts when an endpoint is closed whose answer to the peer's wire-up request still
  // waits for its turn over ud (ucp_request_send_state_ff, "got REP message").
  const bool wires_up = options_.fabric == UcxFabric::kRdma && endpoint->flush_under_way &&
                        endpoint->state == UcxEndpoint::State::kConnecting;
  if (wires_up) endpoint->wire_up_until = MonotonicNow() + kWireUpTime;
  endpoint->state = UcxEndpoint::State::kClosing;
  FailWaiting(*endpoint);
  FailWaitingGets(*endpoint);
  // UCX must not be told from within its own callbacks, where the caller may be.
  closing_.push_back(peer);
}

// Whether a closing is yet to be started; the end of a started one is UCX's to signal.
bool UcxTransport::MustClose() const {
  return std::any_of(closing_.begin(), closing_.end(),
                     [this](PeerId id) { return Find(id)->handle != nullptr; });
}

// Starts the closing of endpoints that were disconnected, and forgets those that UCX is done with.
bool UcxTransport::CloseEndpoints() {
  bool any = false;
  for (std::size_t i = 0; i < closing_.size();) {
    UcxEndpoint& endpoint = *Find(closing_[i]);
    if (endpoint.flush_under_way && MonotonicNow() < endpoint.wire_up_until) {
      ++i;
      continue;
    }
    if (endpoint.handle != nullptr) {
      any = true;
      ucp_request_param_t param{};
      param.op_attr_mask =
          UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
      param.flags = UCP_EP_CLOSE_FLAG_FORCE;
      param.cb.send = &UcxTransport::OnClosed;
      param.user_data = &endpoint;
      endpoint.close_under_way = true;
      const ucs_status_ptr_t request =
          ucp_ep_close_nbx(std::exchange(endpoint.handle, nullptr), &param);
      if (!UCS_PTR_IS_PTR(request)) endpoint.close_under_way = false;
      if (UCS_PTR_IS_ERR(request)) {
        LogWarning(FromUcs(UCS_PTR_RAW_STATUS(request),
                           absl::StrCat("closing the connection to ", endpoint.name))
                       .ToString());
      }
    }
    if (endpoint.close_under_way || endpoint.flush_under_way || endpoint.sends_under_way > 0 ||
        endpoint.gets_under_way > 0) {
      ++i;
      continue;
    }
    any = true;
    endpoints_.erase(closing_[i]);
    closing_[i] = closing_.back();
    closing_.pop_back();
  }
  return any;
}

void UcxTransport::OnClosed(void* request, ucs_status_t, void* endpoint) {
  static_cast<UcxEndpoint*>(endpoint)->close_under_way = false;
  ucp_request_free(request);
}

}  // namespace weir::net
