// UcxTransport's batches: small messages that one call of Progress sends to one peer over tcp leave
// together, since a message's system call costs more than the bytes of a small block.
#include <cassert>
#include <cstring>
#include <optional>
#include <span>

#include "common/net/ucx/batch_format.h"
#include "common/net/ucx/ucx_transport.h"

namespace weir::net {
namespace {

// Four of the largest fit: what is longer gains little.
constexpr std::size_t kMostToBatch = kMaxPayloadBytes / 4;

std::size_t BytesInBatch(const SendOperation& operation) {
  return operation.payload.empty() ? 0 : kMaxGapBytes + operation.payload.size();
}

// The bytes between two payloads that can be sent as they lie: of one memory that a transport
// allocated, where nothing lies between two tensors but what alignment left.
std::optional<std::size_t> GapBetween(const SendOperation& one, const SendOperation& next) {
  const std::byte* const end = one.payload.data() + one.payload.size();
  if (next.payload.data() == end) return 0;
  if (one.memory == nullptr || one.memory != next.memory || next.payload.data() < end ||
      next.payload.data() > end + kMaxGapBytes) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(next.payload.data() - end);
}

// All payloads with what is between them, if they lie in a row.
std::optional<ByteSpan> InARow(std::span<SendOperation* const> operations) {
  const SendOperation* first = nullptr;
  const SendOperation* last = nullptr;
  for (const SendOperation* operation : operations) {
    if (operation->payload.empty()) continue;
    if (last != nullptr && !GapBetween(*last, *operation)) return std::nullopt;
    if (first == nullptr) first = operation;
    last = operation;
  }
  if (first == nullptr) return ByteSpan();
  return ByteSpan(first->payload.data(), last->payload.data() + last->payload.size());
}

}  // namespace

// Only tcp has a system call to save. Outside Progress it may be long before the
// owner comes again.
bool UcxTransport::Batches(const SendOperation& operation) const {
  return in_progress_ && IsTcp(options_.fabric) && operation.payload.size() <= kMostToBatch;
}

void UcxTransport::AddToBatch(UcxEndpoint& endpoint, SendOperation* operation) {
  const std::size_t bytes = BytesInBatch(*operation);
  if (endpoint.batch_bytes + bytes > kMaxPayloadBytes ||
      endpoint.batch.size() == kMaxBatchRecords) {
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

ByteSpan UcxTransport::GatherPayloads() {
  std::byte* end = batch_payloads_.data();
  for (const SendOperation* operation : batch_) {
    if (operation->payload.empty()) continue;
    std::memcpy(end, operation->payload.data(), operation->payload.size());
    end += operation->payload.size();
  }
  return ByteSpan(batch_payloads_.data(), end);
}

ByteSpan UcxTransport::WriteBatchHeaders(bool in_a_row) {
  std::byte* end = batch_headers_.data();
  const SendOperation* last = nullptr;
  for (const SendOperation* operation : batch_) {
    RecordPrefix prefix{.payload_bytes = static_cast<std::uint32_t>(operation->payload.size()),
                        .type = operation->type,
                        .header_bytes = static_cast<std::uint8_t>(operation->header_bytes)};
    if (!operation->payload.empty()) {
      if (in_a_row && last != nullptr) {
        prefix.gap_bytes = static_cast<std::uint16_t>(*GapBetween(*last, *operation));
      }
      last = operation;
    }
    std::memcpy(end, &prefix, sizeof(prefix));
    end += sizeof(prefix);
    std::memcpy(end, operation->header.data(), operation->header_bytes);
    end += operation->header_bytes;
  }
  return ByteSpan(batch_headers_.data(), end);
}

// Either UCX takes the whole batch now, as it does with single messages over tcp, or nothing of it
// (no resource; or the peer is lost). It hands the socket one header and one payload where they
// lie, so payloads in a row cost no copy. The others are gathered, since UCX 1.13 takes no list of
// parts so.
ucs_status_t UcxTransport::PostBatch(UcxEndpoint& endpoint) {
  const std::optional<ByteSpan> in_a_row = InARow(batch_);
  const ByteSpan payloads = in_a_row ? *in_a_row : GatherPayloads();
  const ByteSpan headers = WriteBatchHeaders(in_a_row.has_value());
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(endpoint.handle, kBatchMessage, headers.data(), headers.size(),
                      payloads.empty() ? nullptr : payloads.data(), payloads.size(), &param);
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

void UcxTransport::OnBatch(Batch batch) {
  if (!IsBatch(batch)) return Drop("a batch that is none");
  BatchRecord record;
  while (!batch.headers.empty() && TakeRecord(batch, record)) {
    DeliverMessage(record.type, record.header, record.payload);
  }
}

}  // namespace weir::net
