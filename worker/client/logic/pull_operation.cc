#include "worker/client/logic/pull_operation.h"

namespace weir::client {

PullOperation::PullOperation(ClientState& state)
    : BlockOperation(state, "pull"),
      missing_(state.layout.tensors().size()),
      by_message_(state.layout.blocks().size()) {}

void PullOperation::Start(absl::Time now, absl::Time deadline) {
  StartHeld(now, deadline);
  Release(now, BlockId(0), state_.end_block());
}

void PullOperation::StartHeld(absl::Time now, absl::Time deadline) {
  request_ = request_.next();
  by_message_.assign(by_message_.size(), false);
  for (std::size_t t = 0; t < missing_.size(); ++t) {
    missing_[t] = state_.first_block(t + 1).value() - state_.first_block(t).value();
  }
  Begin(now, deadline);
}

void PullOperation::Ask(absl::Time now, BlockId block) { Release(now, block, block.next()); }

// Reads what it can, and asks for the rest, in as few messages as there are gaps.
void PullOperation::Send(ShardIndex shard, BlockRun run) {
  BlockRun rest{.first = run.first};
  for (std::size_t position = run.first; position < run.first + run.count; ++position) {
    if (!Read(shard, position) && !StartRead(shard, position)) {
      ++rest.count;
      continue;
    }
    Request(shard, rest);
    rest = {.first = position + 1};
  }
  Request(shard, rest);
}

MappedRead PullOperation::ReadOf(ShardIndex shard, std::size_t position) const {
  const BlockId block = state_.block_at(shard, position);
  return {.from = shard,
          .block = block,
          .position = position,
          .view = state_.view,
          .at_least = state_.acknowledged[block.value()]};
}

bool PullOperation::Read(ShardIndex shard, std::size_t position) {
  const MappedRead read = ReadOf(shard, position);
  const std::optional<Version> version = state_.output.TryRead(read);
  return version.has_value() && Deliver(shard, read.block, *version);
}

// A block that was asked for by message may still come so, and must not meet a read of its place.
bool PullOperation::StartRead(ShardIndex shard, std::size_t position) {
  const MappedRead read = ReadOf(shard, position);
  if (by_message_[read.block.value()] || !state_.output.StartRead(read)) return false;
  window(shard).BytesLent(position);
  return true;
}

void PullOperation::OnRead(absl::Time now, BlockId block, std::optional<Version> version) {
  const ShardIndex shard = state_.layout.block(block).shard;
  const std::size_t position = state_.position(block);
  BlockWindow& read = window(shard);
  // Else it was started by a pull that ended before it.
  const bool wanted = active() && read.under_way(position);
  if (wanted && version >= state_.acknowledged[block.value()]) {
    Deliver(shard, block, *version);
  } else if (wanted) {
    Request(shard, {.first = position, .count = 1});
  }
  read.BytesRead(now, position);
  Pump(now, shard);
  FinishIfDone();
}

bool PullOperation::Deliver(ShardIndex shard, BlockId block, Version version) {
  if (!Finish(shard, block)) return false;
  state_.versions[block.value()] = version;
  --missing_[state_.layout.block(block).tensor];
  return true;
}

void PullOperation::Request(ShardIndex shard, BlockRun run) {
  if (run.count == 0) return;
  for (std::size_t i = 0; i < run.count; ++i) {
    by_message_[state_.block_at(shard, run.first + i).value()] = true;
  }
  state_.output.SendPull(
      shard, wire::PullRequest(
                 state_.links[shard.value()].link.session, state_.options.incarnation.value(),
                 request_.value(), state_.view.value(), state_.block_at(shard, run.first).value(),
                 static_cast<std::uint32_t>(run.count), state_.options.worker.value(), 0));
}

void PullOperation::OnBlock(absl::Time now, ShardIndex shard, const wire::PullBlock& header,
                            ByteSpan payload) {
  if (!active() || header.request() != request_.value()) {
    ++state_.dropped;
    return;
  }
  const BlockId block(header.block());
  if (header.code() != wire::Code::Ok) {
    return Refuse(now, shard, block, header.code(), ViewNumber(header.view()));
  }
  if (!Deliver(shard, block, Version(header.version()))) {
    ++state_.dropped;
    return;
  }
  state_.output.DeliverBlock(block, Version(header.version()), payload);
  // One request for half of the credits, not one for each block: those of the other half keep the
  // shard busy meanwhile.
  const BlockWindow& asked = window(shard);
  if (asked.used() * 2 <= asked.credits()) Pump(now, shard);
  FinishIfDone();
}

}  // namespace weir::client
