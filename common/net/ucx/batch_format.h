#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/base/bytes.h"
#include "common/net/transport.h"

namespace weir::net {

/// The active message that carries several of ours. Its header holds a RecordPrefix and the header
/// of each, one after the other and nothing between; its payload, of at most kMaxPayloadBytes,
/// their payloads in that order, each after `gap_bytes` that mean nothing: payloads that lie in a
/// row in the sender's memory are sent as they lie. Little-endian, as all of the wire.
inline constexpr std::uint8_t kBatchMessage = kMaxMessageType + 1;

struct RecordPrefix {
  std::uint32_t payload_bytes = 0;
  std::uint8_t type = 0;
  std::uint8_t header_bytes = 0;
  std::uint16_t gap_bytes = 0;
};
static_assert(sizeof(RecordPrefix) == 8 && std::is_trivially_copyable_v<RecordPrefix>);

inline constexpr std::size_t kMaxBatchRecords = 64;
inline constexpr std::size_t kMaxBatchHeaderBytes =
    kMaxBatchRecords * (sizeof(RecordPrefix) + kMaxHeaderBytes);

/// Less than what 64-byte alignment leaves between two tensors.
inline constexpr std::size_t kMaxGapBytes = 63;

/// What is left of a batch.
struct Batch {
  ByteSpan headers;
  ByteSpan payloads;
};

struct BatchRecord {
  std::uint8_t type = 0;
  ByteSpan header;
  ByteSpan payload;
};

/// Takes the first record off `rest`. False where it cannot be one: cut short, or with a field out
/// of range.
inline bool TakeRecord(Batch& rest, BatchRecord& record) {
  RecordPrefix prefix;
  if (rest.headers.size() < sizeof(prefix)) return false;
  std::memcpy(&prefix, rest.headers.data(), sizeof(prefix));
  const ByteSpan headers = rest.headers.subspan(sizeof(prefix));
  if (prefix.type == 0 || prefix.type > kMaxMessageType || prefix.header_bytes > kMaxHeaderBytes ||
      prefix.header_bytes > headers.size() || prefix.gap_bytes > kMaxGapBytes ||
      prefix.payload_bytes > kMaxPayloadBytes ||
      std::size_t{prefix.gap_bytes} + prefix.payload_bytes > rest.payloads.size()) {
    return false;
  }
  const ByteSpan payloads = rest.payloads.subspan(prefix.gap_bytes);
  record = {.type = prefix.type,
            .header = headers.first(prefix.header_bytes),
            .payload = payloads.first(prefix.payload_bytes)};
  rest = {.headers = headers.subspan(prefix.header_bytes),
          .payloads = payloads.subspan(prefix.payload_bytes)};
  return true;
}

/// Whether `batch` is records from its first byte to its last: looked at before any is handled, so
/// that what is wrong is dropped whole.
inline bool IsBatch(Batch batch) {
  BatchRecord record;
  if (batch.headers.empty()) return false;
  while (!batch.headers.empty()) {
    if (!TakeRecord(batch, record)) return false;
  }
  return batch.payloads.empty();
}

}  // namespace weir::net
