#pragma once

#include <cstddef>

#include "common/base/ids.h"
#include "common/model/layout.h"
#include "schemas/data_generated.h"

namespace weir::client {

// What is wrong with an answer of `shard` that no shard would give, however late or often it comes;
// null: nothing. `newest`: the highest number that it was asked under.
const char* Malformed(const Layout& layout, ShardIndex shard, const wire::PushAck& ack,
                      Sequence newest);
const char* Malformed(const Layout& layout, ShardIndex shard, const wire::PullBlock& header,
                      std::size_t payload_bytes, RequestId newest);
const char* Malformed(ShardIndex shard, const wire::TicketReply& reply, RequestId newest);

}  // namespace weir::client
