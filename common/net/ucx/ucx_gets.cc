// UcxTransport's one-sided reads: one pooled operation a get, each reported once.
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/net/ucx/memory.h"
#include "common/net/ucx/remote_memory.h"
#include "common/net/ucx/status.h"
#include "common/net/ucx/ucx_transport.h"

namespace weir::net {
namespace {

// `inner` lies in `outer`.
bool Within(ByteSpan inner, ByteSpan outer) {
  const std::less_equal<const std::byte*> not_after;
  return not_after(outer.data(), inner.data()) &&
         not_after(inner.data() + inner.size(), outer.data() + outer.size());
}

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteMemory>> UcxTransport::Open(PeerId owner,
                                                                 const std::string& key,
                                                                 std::size_t bytes) {
  const UcxEndpoint* endpoint = Find(owner);
  if (endpoint == nullptr) return absl::NotFoundError("there is no such peer");
  if (options_.fabric != UcxFabric::kRdma) {
    return absl::UnavailableError("this side has no one-sided reads over this fabric");
  }
  if (endpoint->handle == nullptr) {
    return absl::UnavailableError(absl::StrCat("the connection to ", endpoint->name, " is lost"));
  }
  return UcxRemoteMemory::Create(owner, endpoint->handle, key, bytes, endpoint->name);
}

void UcxTransport::Get(const RemoteMemory& from, std::size_t offset, MutableByteSpan into,
                       const Memory& memory, GetToken token) {
  const auto& remote = static_cast<const UcxRemoteMemory&>(from);
  const auto& local = static_cast<const UcxMemory&>(memory);
  UcxEndpoint* endpoint = Find(remote.owner());
  absl::Status status = CheckPeer(endpoint, remote.owner());
  if (into.empty() || offset > remote.size() || into.size() > remote.size() - offset ||
      !Within(into, local.view())) {
    status =
        absl::InvalidArgumentError(absl::StrCat("a get of ", into.size(), " bytes at ", offset,
                                                " of ", remote.size(), ", or not into its memory"));
  }
  if (!status.ok()) {
    got_.push_back({token, std::move(status)});
    return;
  }
  GetOperation* operation = gets_.Take();
  operation->into = into;
  operation->memory = local.handle();
  operation->address = remote.address() + offset;
  operation->key = remote.key();
  operation->token = token;
  operation->endpoint = endpoint;
  operation->transport = this;
  if (endpoint->state == UcxEndpoint::State::kConnecting) {
    endpoint->waiting_gets.push_back(operation);
  } else {
    StartGet(*endpoint, operation);
  }
}

void UcxTransport::StartGet(UcxEndpoint& endpoint, GetOperation* operation) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                       UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_MEMH;
  param.cb.send = &UcxTransport::OnGetDone;
  param.user_data = operation;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  param.memh = operation->memory;
  ++endpoint.gets_under_way;
  const ucs_status_ptr_t request =
      ucp_get_nbx(endpoint.handle, operation->into.data(), operation->into.size(),
                  operation->address, operation->key->get(), &param);
  if (UCS_PTR_IS_PTR(request)) return;  // OnGetDone follows
  --endpoint.gets_under_way;
  FinishGet(operation, UCS_PTR_RAW_STATUS(request));
}

void UcxTransport::OnGetDone(void* request, ucs_status_t status, void* user_data) {
  auto* operation = static_cast<GetOperation*>(user_data);
  if (UcxTransport* transport = operation->transport; transport != nullptr) {
    --operation->endpoint->gets_under_way;
    transport->FinishGet(operation, status);
  }
  ucp_request_free(request);
}

void UcxTransport::FinishGet(GetOperation* operation, ucs_status_t status) {
  got_.push_back({operation->token, OutcomeOf(*operation->endpoint, status)});
  operation->key.reset();
  gets_.Give(operation);
}

void UcxTransport::StartWaitingGets(UcxEndpoint& endpoint) {
  for (GetOperation* operation : std::exchange(endpoint.waiting_gets, {})) {
    StartGet(endpoint, operation);
  }
}

// UCX knows nothing of these yet.
void UcxTransport::FailWaitingGets(UcxEndpoint& endpoint) {
  for (GetOperation* operation : std::exchange(endpoint.waiting_gets, {})) {
    FinishGet(operation, UCS_ERR_CANCELED);
  }
}

bool UcxTransport::ReportGets(TransportEvents& events) {
  if (got_.empty()) return false;
  // What the calls add is for the next round.
  reporting_gets_.swap(got_);
  for (const GetCompletion& get : reporting_gets_) events.OnGot(get.token, get.status);
  reporting_gets_.clear();
  return true;
}

}  // namespace weir::net
