#include "worker/client/logic/block_operation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "weir/exit_code.h"

namespace weir::client {
namespace {

ShardIndex Shard(std::size_t index) { return ShardIndex(static_cast<std::uint16_t>(index)); }

}  // namespace

BlockOperation::BlockOperation(ClientState& state, absl::string_view verb)
    : state_(state), verb_(verb) {
  for (std::size_t s = 0; s < state.links.size(); ++s) {
    windows_.emplace_back(state.layout.blocks_of(Shard(s)).size());
  }
}

void BlockOperation::Begin(absl::Time now, absl::Time deadline) {
  active_ = true;
  result_.reset();
  started_ = now;
  deadline_ = deadline;
  remaining_ = state_.layout.blocks().size();
  for (std::size_t s = 0; s < windows_.size(); ++s) {
    const Link& link = state_.links[s];
    windows_[s].Start();
    if (windows_[s].remaining() > 0 && !link.connected) {
      return Fail(now, Shard(s), absl::StatusCode::kUnavailable,
                  state_.NotConnected(Shard(s)).message());
    }
  }
  FinishIfDone();
}

void BlockOperation::Release(absl::Time now, BlockId first, BlockId end) {
  if (!active_) return;
  for (BlockId block = first; block < end; block = block.next()) {
    window(state_.layout.block(block).shard).Release(now, state_.position(block));
  }
  for (std::size_t s = 0; s < windows_.size(); ++s) Pump(now, Shard(s));
}

std::size_t BlockOperation::held() const {
  std::size_t sum = 0;
  for (const BlockWindow& window : windows_) sum += window.held();
  return sum;
}

void BlockOperation::Extend(absl::Time deadline) { deadline_ = std::max(deadline_, deadline); }

void BlockOperation::Pump(absl::Time now, ShardIndex shard) {
  if (!active_) return;
  while (true) {
    const BlockRun run =
        windows_[shard.value()].Take(now + state_.options.retry_after, most_in_a_row());
    if (run.count == 0) break;
    Send(shard, run);
  }
  // What is read from mapped memory is answered within Send.
  FinishIfDone();
}

bool BlockOperation::Finish(ShardIndex shard, BlockId block) {
  if (!windows_[shard.value()].Finish(state_.position(block))) return false;
  --remaining_;
  return true;
}

void BlockOperation::FinishIfDone() {
  if (!active_ || remaining_ > 0 || reading() > 0) return;
  Done();
  End(absl::OkStatus());
}

int BlockOperation::reading() const {
  int sum = 0;
  for (const BlockWindow& window : windows_) sum += window.reading();
  return sum;
}

void BlockOperation::Refuse(absl::Time now, ShardIndex shard, BlockId block, wire::Code code,
                            ViewNumber view) {
  BlockWindow& refused = windows_[shard.value()];
  const std::size_t position = state_.position(block);
  bool news = true;
  switch (code) {
    case wire::Code::StaleView:
      if (view > state_.view) {
        news = refused.AwaitView(position);
        break;
      }
      // The shard is behind us, or our view came while the answer was on its way.
      [[fallthrough]];
    case wire::Code::Busy:
      news = refused.Delay(now, position, state_.backoff());
      break;
    case wire::Code::Fenced:
      return Fail(now, shard, absl::StatusCode::kFailedPrecondition,
                  "fenced: this worker's incarnation is over (it was declared dead); restart it");
    case wire::Code::Invalid:
      return Fail(now, shard, absl::StatusCode::kInvalidArgument,
                  absl::StrCat("the shard refused block ", block.value(),
                               " as invalid; worker and ps disagree, see the log of the ps"));
    case wire::Code::Ok:
      break;
  }
  if (!news) ++state_.dropped;
  Pump(now, shard);
}

void BlockOperation::OnView(absl::Time now) {
  if (!active_) return;
  for (std::size_t s = 0; s < windows_.size(); ++s) {
    windows_[s].ViewCame(now);
    Pump(now, Shard(s));
  }
}

void BlockOperation::OnPeerDown(absl::Time now, ShardIndex shard, const absl::Status& why) {
  if (!active_ || windows_[shard.value()].remaining() == 0) return;
  Fail(now, shard, absl::StatusCode::kUnavailable, why.message());
}

void BlockOperation::Abort(absl::Time /*now*/, const absl::Status& why) {
  if (active_) End(why);
}

void BlockOperation::OnTick(absl::Time now) {
  if (!active_) return;
  if (now >= deadline_) {
    const auto unfinished = std::ranges::find_if(windows_, [](const BlockWindow& window) {
      return window.remaining() > 0 || window.reading() > 0;
    });
    return Fail(now, Shard(static_cast<std::size_t>(unfinished - windows_.begin())),
                absl::StatusCode::kDeadlineExceeded, "not answered by the deadline");
  }
  for (std::size_t s = 0; s < windows_.size(); ++s) {
    windows_[s].Expire(now);
    Pump(now, Shard(s));
  }
}

absl::Time BlockOperation::next_tick() const {
  if (!active_) return absl::InfiniteFuture();
  absl::Time next = deadline_;
  for (const BlockWindow& window : windows_) next = std::min(next, window.next_due());
  return next;
}

void BlockOperation::Fail(absl::Time now, ShardIndex shard, absl::StatusCode code,
                          absl::string_view why) {
  const BlockWindow& window = windows_[shard.value()];
  const BlockRun missing = window.Missing();
  std::string blocks;
  if (missing.count > 0) {
    blocks = absl::StrCat(", blocks ", state_.block_at(shard, missing.first).value(), "-",
                          state_.block_at(shard, missing.first + missing.count - 1).value());
  }
  absl::Status status(
      code, absl::StrCat(verb_, " at ", state_.NameOf(shard), blocks, " (", window.Describe(),
                         ") after ", absl::FormatDuration(now - started_), ": ", why));
  // A shard that is gone, does not answer, or has fenced this worker: the worker cannot go on.
  if (code != absl::StatusCode::kInvalidArgument) {
    status = WithExitCode(std::move(status), ExitCode::kPeerLost);
  }
  End(std::move(status));
}

void BlockOperation::End(absl::Status status) {
  active_ = false;
  result_ = std::move(status);
  for (BlockWindow& window : windows_) window.Stop();
}

}  // namespace weir::client
