#include "worker/client/logic/answer_checks.h"

#include "worker/client/logic/client_state.h"

namespace weir::client {
namespace {

bool Has(const Layout& layout, ShardIndex shard, std::uint32_t block) {
  return block < layout.blocks().size() && layout.block(BlockId(block)).shard == shard;
}

}  // namespace

const char* Malformed(const Layout& layout, ShardIndex shard, const wire::PushAck& ack,
                      Sequence newest) {
  if (!Has(layout, shard, ack.block())) return "an answer to a push of a block that it has not";
  if (ack.sequence() == 0 || Sequence(ack.sequence()) > newest) {
    return "an answer to a push that never was";
  }
  if (ack.code() > wire::Code::MAX) return "an answer to a push with an unknown code";
  return nullptr;
}

const char* Malformed(const Layout& layout, ShardIndex shard, const wire::PullBlock& header,
                      std::size_t payload_bytes, RequestId newest) {
  if (!Has(layout, shard, header.block())) return "an answer to a pull of a block that it has not";
  if (header.request() == 0 || RequestId(header.request()) > newest) {
    return "an answer to a pull that never was";
  }
  if (header.code() > wire::Code::MAX) return "an answer to a pull with an unknown code";
  const bool ok = header.code() == wire::Code::Ok;
  const std::int64_t bytes = ok ? layout.block(BlockId(header.block())).bytes() : 0;
  if (payload_bytes != static_cast<std::size_t>(bytes)) {
    return "an answer to a pull that is not of its block's size";
  }
  return nullptr;
}

const char* Malformed(ShardIndex shard, const wire::TicketReply& reply, RequestId newest) {
  if (shard != kTicketShard) return "a step, which another ps counts";
  if (reply.request() == 0 || RequestId(reply.request()) > newest) {
    return "an answer to a request for a step that never was";
  }
  if (reply.outcome() > wire::TicketOutcome::MAX) {
    return "an answer to a request for a step with an unknown outcome";
  }
  return nullptr;
}

}  // namespace weir::client
