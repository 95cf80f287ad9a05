#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "common/base/bytes.h"
#include "ps_server/logic/block_store.h"
#include "ps_server/logic/shard.h"
#include "ps_server/logic/shard_counters.h"
#include "tests/simulation/history.h"

namespace weir::sim {

class SimCluster;

/// The shell of one shard: its memory, its connections, its snapshots.
class SimShard final : private ps::ShardOutput {
 public:
  SimShard(SimCluster& cluster, ShardIndex index);
  ~SimShard() override;

  void OnView(ViewNumber view, const std::vector<Life>& live);
  void OnPush(const wire::PushBlock& header, const std::vector<std::byte>& payload);
  void OnPull(const wire::PullRequest& header);
  void OnTicket(const wire::TicketRequest& header);
  void StopTraining() { shard_.StopTraining(); }
  /// Starts a cut, unless one is going on, and lets go of its blocks bit by bit.
  void TakeSnapshot();

  std::span<const float> values(BlockId block) const { return store_.values(block); }

 private:
  void SendPushAck(WorkerIndex to, const wire::PushAck& ack) override;
  void SendBlock(WorkerIndex to, const wire::PullBlock& header, ps::BlockPin pin) override;
  void SendPullRefusal(WorkerIndex to, const wire::PullBlock& header) override;
  void SendTicket(WorkerIndex to, const wire::TicketReply& reply) override;
  void CloseWorker(WorkerIndex worker, absl::string_view what) override;
  void StepCompleted(Step step) override;

  void CheckSpares();

  SimCluster& cluster_;
  const ShardIndex index_;
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  const std::size_t memory_bytes_;
  std::unique_ptr<std::byte, Free> memory_;
  ps::BlockStore store_;
  ps::ShardCounters counters_;
  ps::Shard shard_;
  std::map<WorkerIndex, int> blocks_being_sent_;
  std::size_t snapshot_pins_ = 0;
  wire::TicketRequest ticket_;  // the one that is being handled
};

}  // namespace weir::sim
