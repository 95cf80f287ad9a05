#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "schemas/data_generated.h"
#include "worker/client/logic/block_window.h"
#include "worker/client/logic/client_state.h"

namespace weir::client {

/// What a push and a pull have in common: every block of the layout is to be sent and answered,
/// within each shard's credits and by one deadline. It begins with all blocks held; they are sent
/// once they are released, in any order.
class BlockOperation {
 public:
  /// `verb` ("push") stands in errors; a literal.
  BlockOperation(ClientState& state, absl::string_view verb);
  virtual ~BlockOperation() = default;

  void OnView(absl::Time now);
  void OnPeerDown(absl::Time now, ShardIndex shard, const absl::Status& why);
  void Abort(absl::Time now, const absl::Status& why);
  void OnTick(absl::Time now);
  absl::Time next_tick() const;

  /// It may go on until `deadline`, if that is later than its own.
  void Extend(absl::Time deadline);
  absl::Time deadline() const { return deadline_; }

  bool active() const { return active_; }
  /// Blocks that were not released yet.
  std::size_t held() const;
  const std::optional<absl::Status>& result() const { return result_; }

 protected:
  void Begin(absl::Time now, absl::Time deadline);
  /// The blocks from `first` up to `end` are to be sent.
  void Release(absl::Time now, BlockId first, BlockId end);
  BlockWindow& window(ShardIndex shard) { return windows_[shard.value()]; }
  /// Sends what is ready on `shard`.
  void Pump(absl::Time now, ShardIndex shard);
  /// `block` was refused with `code` (not Ok) by a shard of view `view`.
  void Refuse(absl::Time now, ShardIndex shard, BlockId block, wire::Code code, ViewNumber view);
  /// Ends the operation if nothing is left to do.
  void FinishIfDone();
  /// `block` is answered; false if it was before.
  bool Finish(ShardIndex shard, BlockId block);
  /// Blocks whose bytes are being read, over all shards.
  int reading() const;

  ClientState& state_;

 private:
  /// The blocks of `run` are under way. Those that it can answer itself it may Finish.
  virtual void Send(ShardIndex shard, BlockRun run) = 0;
  /// Blocks that one message may ask for.
  virtual std::size_t most_in_a_row() const = 0;
  virtual void Done() = 0;

  void Fail(absl::Time now, ShardIndex shard, absl::StatusCode code, absl::string_view why);
  void End(absl::Status status);

  const absl::string_view verb_;
  std::vector<BlockWindow> windows_;  // by shard
  bool active_ = false;
  std::size_t remaining_ = 0;  // blocks not answered, over all shards
  absl::Time started_;
  absl::Time deadline_;
  std::optional<absl::Status> result_;
};

}  // namespace weir::client
