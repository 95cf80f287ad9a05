// UcxTransport's batches: small messages that one call of Progress sends to one peer over tcp leave
// together, since a message's system call costs more than the bytes of a small block.
#include <cassert>
#include <cstring>

#include "common/net/ucx/batch_format.h"
#include "common/net/ucx/ucx_transport.h"

namespace weir::net {
namespace {

// Four of the largest fit: what is longer gains little.
constexpr std::size_t kMostToBatch = kMaxPayloadBytes / 4;
constexpr std::size_t kMostInBatch = 64;

std::size_t BytesOf(const SendOperation& operation) {
  return BytesInBatch(operation.header_bytes, operation.payload.size());
}

}  // namespace

// Only tcp has a system call to save. Outside Progress it may be long before the
// owner comes again.
bool UcxTransport::Batches(const SendOperation& operation) const {
  return in_progress_ && IsTcp(options_.fabric) && BytesOf(operation) <= kMostToBatch;
}

void UcxTransport::AddToBatch(UcxEndpoint& endpoint, SendOperation* operation) {
  const std::size_t bytes = BytesOf(*operation);
  if (endpoint.batch_bytes + bytes > kMaxPayloadBytes || endpoint.batch.size() == kMostInBatch) {
    StartBatch(endpoint);
    if (endpoint.state != UcxEndpoint::State::kUp) return Submit(endpoint, operation);
  }
  if (!endpoint.batching) {
    endpoint.batching = true;
    batching_.push_back(endpoint.id);
  }
  endpoint.batch.push_back(operation);
  endpoint.batch_bytes += bytes;
}

void UcxTransport::StartBatch(UcxEndpoint& endpoint) {
  if (endpoint.batch.empty()) return;
  batch_.swap(endpoint.batch);
  endpoint.batch_bytes = 0;
  const bool one = batch_.size() == 1;
  const ucs_status_t status = one ? UCS_ERR_NO_RESOURCE : PostBatch(endpoint);
  for (SendOperation* operation : batch_) {
    if (status == UCS_ERR_NO_RESOURCE) {
      // Alone, or too much for the socket: as any other, which may have to wait.
      SubmitAlone(endpoint, operation);
    } else {
      Complete(endpoint, operation->token, status);
      sends_.Give(operation);
    }
  }
  batch_.clear();
}

// Either UCX takes the whole batch now, as it does with single messages over tcp, or nothing of it
// (no resource; or the peer is lost). Gathered here because UCX 1.13 takes no list of parts so;
// what has no header of its own it hands to the socket without another copy.
ucs_status_t UcxTransport::PostBatch(UcxEndpoint& endpoint) {
  std::byte* end = batch_bytes_.data();
  const auto add = [&end](const void* data, std::size_t bytes) {
    if (bytes > 0) std::memcpy(end, data, bytes);
    end += bytes;
  };
  for (const SendOperation* operation : batch_) {
    const RecordPrefix prefix{
        .payload_bytes = static_cast<std::uint32_t>(operation->payload.size()),
        .type = operation->type,
        .header_bytes = static_cast<std::uint8_t>(operation->header_bytes)};
    add(&prefix, sizeof(prefix));
    add(operation->header.data(), operation->header_bytes);
    add(operation->payload.data(), operation->payload.size());
  }
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(endpoint.handle, kBatchMessage, nullptr, 0, batch_bytes_.data(),
                      static_cast<std::size_t>(end - batch_bytes_.data()), &param);
  assert(!UCS_PTR_IS_PTR(request));  // complete at once, or not begun
  return UCS_PTR_RAW_STATUS(request);
}

bool UcxTransport::StartBatches() {
  if (batching_.empty()) return false;
  starting_.swap(batching_);
  for (const PeerId id : starting_) {
    UcxEndpoint* const endpoint = Find(id);
    if (endpoint == nullptr) continue;
    endpoint->batching = false;
    StartBatch(*endpoint);
  }
  starting_.clear();
  return true;
}

void UcxTransport::OnBatch(ByteSpan batch) {
  if (!IsBatch(batch)) {
    ++dropped_messages_;
    return;
  }
  BatchRecord record;
  while (!batch.empty() && TakeRecord(batch, record)) {
    DeliverMessage(record.type, record.header, record.payload);
  }
}

}  // namespace weir::net
