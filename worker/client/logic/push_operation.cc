#include "worker/client/logic/push_operation.h"

#include <cassert>

namespace weir::client {

PushOperation::PushOperation(ClientState& state)
    : BlockOperation(state, "push"), base_versions_(state.versions.size()) {}

void PushOperation::Start(absl::Time now, Step step, absl::Time deadline) {
  StartHeld(now, step, deadline);
  GradientsReady(now, BlockId(0), state_.end_block());
}

void PushOperation::StartHeld(absl::Time now, Step step, absl::Time deadline) {
  assert(!active());
  sequence_ = sequence_.next();
  step_ = step;
  Begin(now, deadline);
}

void PushOperation::GradientsReady(absl::Time now, BlockId first, BlockId end) {
  for (BlockId block = first; block < end; block = block.next()) {
    base_versions_[block.value()] = state_.versions[block.value()];
  }
  Release(now, first, end);
}

void PushOperation::Send(ShardIndex shard, BlockRun run) {
  const BlockId block = state_.block_at(shard, run.first);
  const ClientLogicOptions& options = state_.options;
  const auto blocks_here = static_cast<std::uint32_t>(state_.layout.blocks_of(shard).size());
  window(shard).BytesLent(run.first);
  state_.output.SendPush(
      shard, wire::PushBlock(state_.links[shard.value()].link.session, options.incarnation.value(),
                             sequence_.value(), base_versions_[block.value()].value(),
                             step_.value(), state_.view.value(), block.value(),
                             clock_.next().value(), blocks_here, options.worker.value(), 0, 0));
}

std::optional<BlockId> PushOperation::OnAck(absl::Time now, ShardIndex shard,
                                            const wire::PushAck& ack) {
  if (!active() || ack.sequence() != sequence_.value()) {
    ++state_.dropped;
    return std::nullopt;
  }
  const BlockId block(ack.block());
  if (ack.code() != wire::Code::Ok) {
    Refuse(now, shard, block, ack.code(), ViewNumber(ack.view()));
    return std::nullopt;
  }
  if (!Finish(shard, block)) {
    ++state_.dropped;
    return std::nullopt;
  }
  state_.acknowledged[block.value()] = Version(ack.version());
  Pump(now, shard);
  FinishIfDone();
  return block;
}

void PushOperation::OnSent(absl::Time now, BlockId block) {
  const ShardIndex shard = state_.layout.block(block).shard;
  window(shard).BytesRead(now, state_.position(block));
  Pump(now, shard);
  FinishIfDone();
}

void PushOperation::Done() {
  clock_ = clock_.next();
  ++acknowledged_;
}

}  // namespace weir::client
