#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/base/bytes.h"
#include "common/net/transport.h"

namespace weir::net {

/// The active message that carries several of ours, one after the other, without a header of its
/// own: of each a RecordPrefix, the header and the payload, nothing between. It is not longer than
/// kMaxPayloadBytes. Little-endian, as all of the wire.
inline constexpr std::uint8_t kBatchMessage = kMaxMessageType + 1;

struct RecordPrefix {
  std::uint32_t payload_bytes = 0;
  std::uint8_t type = 0;
  std::uint8_t header_bytes = 0;
  std::uint16_t reserved = 0;
};
static_assert(sizeof(RecordPrefix) == 8 && std::is_trivially_copyable_v<RecordPrefix>);

inline constexpr std::size_t BytesInBatch(std::size_t header_bytes, std::size_t payload_bytes) {
  return sizeof(RecordPrefix) + header_bytes + payload_bytes;
}

struct BatchRecord {
  std::uint8_t type = 0;
  ByteSpan header;
  ByteSpan payload;
};

/// Takes the first record off `rest`. False where it cannot be one: cut short, or with a field out
/// of range.
inline bool TakeRecord(ByteSpan& rest, BatchRecord& record) {
  RecordPrefix prefix;
  if (rest.size() < sizeof(prefix)) return false;
  std::memcpy(&prefix, rest.data(), sizeof(prefix));
  if (prefix.type == 0 || prefix.type > kMaxMessageType || prefix.header_bytes > kMaxHeaderBytes ||
      prefix.payload_bytes > kMaxPayloadBytes || prefix.reserved != 0 ||
      BytesInBatch(prefix.header_bytes, prefix.payload_bytes) > rest.size()) {
    return false;
  }
  const ByteSpan bytes = rest.subspan(sizeof(prefix));
  record = {.type = prefix.type,
            .header = bytes.first(prefix.header_bytes),
            .payload = bytes.subspan(prefix.header_bytes, prefix.payload_bytes)};
  rest = bytes.subspan(std::size_t{prefix.header_bytes} + prefix.payload_bytes);
  return true;
}

/// Whether `batch` is records from its first byte to its last: looked at before any is handled, so
/// that what is wrong is dropped whole.
inline bool IsBatch(ByteSpan batch) {
  BatchRecord record;
  if (batch.empty()) return false;
  while (!batch.empty()) {
    if (!TakeRecord(batch, record)) return false;
  }
  return true;
}

}  // namespace weir::net
