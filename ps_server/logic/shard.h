#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/bytes.h"
#include "common/base/ids.h"
#include "common/model/layout.h"
#include "ps_server/logic/block_store.h"
#include "ps_server/logic/shard_counters.h"
#include "ps_server/logic/tickets.h"
#include "schemas/data_generated.h"

namespace weir::ps {

/// What one shard wants done. The shipping server sends over UCX; the simulation queues. Nothing
/// here may call the shard back.
class ShardOutput {
 public:
  virtual ~ShardOutput() = default;
  virtual void SendPushAck(WorkerIndex to, const wire::PushAck& ack) = 0;
  /// `pin` is held until the caller reports Shard::OnBlockSent.
  virtual void SendBlock(WorkerIndex to, const wire::PullBlock& header, BlockPin pin) = 0;
  /// A block of a pull that could not be served: header only. Busy and StaleView are said of each
  /// block, Fenced and Invalid once, of the first.
  virtual void SendPullRefusal(WorkerIndex to, const wire::PullBlock& header) = 0;
  virtual void SendTicket(WorkerIndex to, const wire::TicketReply& reply) = 0;
  /// The message could not have come from a correct worker: close its connection. `what` says why.
  virtual void CloseWorker(WorkerIndex worker, absl::string_view what) = 0;
  /// The global step advanced (only on the shard with the step counter).
  virtual void StepCompleted(Step step) = 0;
};

/// One worker in the view that a shard was given.
struct LiveWorker {
  WorkerIndex worker;
  Incarnation incarnation;
};

struct ShardOptions {
  ShardIndex shard;
  int max_workers = 1;  ///< worker indices are below this
  Step start_step;      ///< of this run
  Step max_steps;
  float learning_rate = 0.1F;
  int push_credits = 16;          ///< as told to the workers; the shard itself answers at once
  int pull_credits = 16;          ///< blocks being read for one worker; as many more may be owed
  bool has_step_counter = false;  ///< exactly one shard has it: the first
};

/// The logic of one parameter server: applies each block of each push exactly once, serves pulls
/// from one version each, hands out step tickets, and counts. No I/O, no clock, no threads: events
/// come in, actions go out through ShardOutput, and the same object runs in the simulation.
///
/// Not welcome is: a message of another view (StaleView; the client waits or retries), of an
/// incarnation that is over (Fenced), and one that no correct worker sends. The last is answered
/// Invalid where a reply can be addressed, and its connection is closed; a base version from the
/// future and an unknown codec are answered Invalid only, since a restart or a newer worker
/// explains them. A push older than the worker's current one is dropped: nobody waits for it.
///
/// A worker must not use a view from before it was admitted, except view 0 (none yet).
///
/// Exactly once: a worker sends block b of push s+1 only after b of push s was acknowledged, so
/// one number per (worker, block), the last sequence applied, tells a repetition from news.
/// Threading: one owner, except the counters, which anybody may read.
class Shard {
 public:
  /// `layout`, `store`, `output` and `counters` outlive the shard.
  Shard(const Layout& layout, const ShardOptions& options, BlockStore& store,
        ShardCounters& counters, ShardOutput& output);
  ~Shard();

  /// A new membership; older or equal numbers are ignored. Workers that are no longer in it, or
  /// whose incarnation changed, are fenced: their tickets are handed out again, their messages
  /// refused. An incarnation that was fenced must not come back.
  void OnView(ViewNumber view, std::span<const LiveWorker> workers);

  // Messages of `worker`, as its connection says; the header's own claim is checked against it.
  void OnPush(WorkerIndex worker, const wire::PushBlock& header, ByteSpan payload);
  /// Of a push whose gradient is yet to be fetched: whether to fetch it and call OnPush. If not,
  /// the push was answered or dropped, as OnPush would have done. By the time of OnPush the answer
  /// may be another one.
  bool WantsGradient(WorkerIndex worker, const wire::PushBlock& header);
  /// A push whose gradient cannot be fetched now: it is to come again.
  void AnswerBusy(WorkerIndex worker, const wire::PushBlock& header);
  /// A push that no correct worker sends, for the reason `what`: Invalid, and closed.
  void RefuseLie(WorkerIndex worker, const wire::PushBlock& header, absl::string_view what);
  void OnPull(WorkerIndex worker, const wire::PullRequest& header);
  void OnTicket(WorkerIndex worker, const wire::TicketRequest& header);

  /// The bytes of a SendBlock were read (or its send failed). Sends a block that is owed.
  void OnBlockSent(WorkerIndex worker, BlockPin pin);

  /// Hands out no more tickets: waiting and later requests are answered Finished.
  void StopTraining();

  /// Starts a consistent cut: pins every block as it is now. At most one at a time.
  struct Snapshot {
    std::vector<BlockPin> pins;  ///< by position in layout.blocks_of(shard)
    std::vector<WorkerClock> worker_clocks;
  };
  Snapshot BeginSnapshot();
  void ReleaseSnapshotBlock(BlockPin pin);
  bool snapshot_under_way() const { return snapshot_pins_ > 0; }

  ViewNumber view() const;
  Step global_step() const;
  /// Every ticket of this run is completed. Only the shard with the step counter knows.
  bool finished() const;

 private:
  struct Worker;
  enum class Standing;

  Worker* FindWorker(WorkerIndex worker, std::uint16_t claimed, absl::string_view message);
  Standing StandingOf(const Worker& worker, Incarnation incarnation, ViewNumber view) const;
  void Admit(WorkerIndex index, Incarnation incarnation);
  void Fence(WorkerIndex index);

  void AnswerPush(WorkerIndex to, const wire::PushBlock& header, wire::Code code, bool duplicate);
  void RefusePush(WorkerIndex to, const wire::PushBlock& header, wire::Code code);
  bool IsToBeApplied(WorkerIndex index, const wire::PushBlock& header, std::size_t payload_bytes);
  bool IsNews(WorkerIndex index, const wire::PushBlock& header);
  void Apply(WorkerIndex index, const wire::PushBlock& header, ByteSpan payload);
  void CountApplied(WorkerIndex index, const wire::PushBlock& header, Version before);

  void RefusePull(WorkerIndex to, const wire::PullRequest& header, BlockId block, wire::Code code);
  void ServePull(WorkerIndex index, const wire::PullRequest& header);
  void ServeBlock(WorkerIndex index, const wire::PullRequest& header, BlockId block);
  void RefuseOwed(WorkerIndex index);

  void TakeTicketRequest(WorkerIndex index, const wire::TicketRequest& header);
  void CountCompleted(WorkerIndex index, Step step);
  bool TryAnswerNext(WorkerIndex index, const wire::TicketRequest& header);
  void AnswerTicket(WorkerIndex index, const wire::TicketRequest& header,
                    wire::TicketOutcome outcome, Step step);
  wire::TicketReply MakeTicketReply(const wire::TicketRequest& header, wire::TicketOutcome outcome,
                                    Step step) const;
  void ServeWaiting();
  void StopWaiting(WorkerIndex index);

  std::span<const BlockId> blocks() const { return layout_.blocks_of(options_.shard); }

  const Layout& layout_;
  const ShardOptions options_;
  BlockStore& store_;
  ShardCounters& counters_;
  ShardOutput& output_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Tickets tickets_;
  std::vector<WorkerIndex> waiting_;  // with a ticket request that waits, in order of arrival
  ViewNumber view_;
  std::size_t snapshot_pins_ = 0;
};

}  // namespace weir::ps
