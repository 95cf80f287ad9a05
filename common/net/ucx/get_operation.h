#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <memory>

#include "common/base/bytes.h"
#include "common/net/transport.h"
#include "common/net/ucx/operation_pool.h"
#include "common/net/ucx/remote_memory.h"

namespace weir::net {

struct UcxEndpoint;
class UcxTransport;

/// One one-sided read under way.
struct GetOperation {
  MutableByteSpan into;
  ucp_mem_h memory = nullptr;
  std::uint64_t address = 0;  ///< in the owner's process
  std::shared_ptr<const UcxRemoteKey> key;
  GetToken token;
  UcxEndpoint* endpoint = nullptr;  // null: not under way
  UcxTransport* transport = nullptr;
};

using GetPool = OperationPool<GetOperation>;

}  // namespace weir::net
