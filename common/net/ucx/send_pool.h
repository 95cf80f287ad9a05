#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/base/bytes.h"
#include "common/net/transport.h"
#include "common/net/ucx/operation_pool.h"

namespace weir::net {

struct UcxEndpoint;
class UcxTransport;

/// One send under way. The header lies here because UCX 1.13 reads it until the send completes.
struct SendOperation {
  alignas(64) std::array<std::byte, kMaxHeaderBytes> header;
  std::size_t header_bytes = 0;
  ByteSpan payload;
  const Memory* memory = nullptr;  // that the payload lies in; null: of the caller's own
  SendToken token;
  std::uint8_t type = 0;
  UcxEndpoint* endpoint = nullptr;  // null: not under way
  UcxTransport* transport = nullptr;
};

using SendPool = OperationPool<SendOperation>;

}  // namespace weir::net
