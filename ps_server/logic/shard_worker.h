#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/ids.h"
#include "ps_server/logic/owed_blocks.h"
#include "ps_server/logic/shard.h"
#include "schemas/data_generated.h"

namespace weir::ps {

/// Whether a shard listens to a message.
enum class Shard::Standing { kWelcome, kStaleView, kFenced };

/// What a shard knows of one worker index: the incarnation that the view names, and how far it is.
struct Shard::Worker {
  explicit Worker(int pull_credits) : owed(pull_credits) {}

  bool live = false;
  Incarnation incarnation;  ///< the live one, or the last
  Incarnation fenced;       ///< the one before it; 0: none

  // Of this incarnation.
  std::vector<Sequence> applied;  ///< last sequence applied, by the block's position
  Sequence push;                  ///< the one that is being applied, or the last
  std::uint32_t push_blocks = 0;  ///< of `push`, on this shard
  std::uint32_t push_applied = 0;
  RequestId ticket_request;  ///< the highest seen; answered unless `waiting`
  wire::TicketReply ticket_reply;
  std::optional<wire::TicketRequest> waiting;
  OwedBlocks owed;  ///< empty unless blocks_being_sent is all that the credits allow

  /// SendBlock without OnBlockSent; of all incarnations, since the pins are real whoever asked.
  int blocks_being_sent = 0;
};

}  // namespace weir::ps
