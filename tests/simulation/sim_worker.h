#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "common/base/bytes.h"
#include "tests/simulation/history.h"
#include "worker/client/logic/client_logic.h"

namespace weir::sim {

class SimCluster;

/// One life of a worker: takes a step, pulls, computes a gradient, pushes, and so on until it is
/// told that the job is finished.
class SimWorker final : private ClientOutput {
 public:
  SimWorker(SimCluster& cluster, const Life& life);
  ~SimWorker() override;

  void Start();
  void OnView(ViewNumber view);
  void OnPushAck(ShardIndex shard, const wire::PushAck& ack);
  void OnPullBlock(ShardIndex shard, const wire::PullBlock& header, ByteSpan payload);
  void OnTicketReply(ShardIndex shard, const wire::TicketReply& reply);

  bool done() const { return done_; }

 private:
  void SendPush(ShardIndex to, const wire::PushBlock& header) override;
  void SendPull(ShardIndex to, const wire::PullRequest& header) override;
  void SendTicket(ShardIndex to, const wire::TicketRequest& header) override;
  void DeliverBlock(BlockId block, Version version, ByteSpan payload) override;

  void AskForStep(std::optional<Step> completed, wire::TicketAction action);
  void FinishStep();
  bool LeavesNow();
  void StartPull();
  void StartPush();
  /// Looks at what has ended, goes on, and sets the alarm.
  void Proceed();
  bool Ended(Operation what, const std::optional<absl::Status>& result);
  void ProceedFromTicket();
  void SetAlarm();
  void FillGradients();
  void SpoilGradients();
  bool GradientIsWhole(BlockId block, Sequence sequence) const;
  absl::Time now() const;
  absl::Time deadline() const;

  SimCluster& cluster_;
  const Life life_;
  ClientLogic logic_;
  std::vector<std::vector<float>> gradients_;  // by block
  std::vector<int> pushes_being_read_;         // by shard
  std::set<Operation> running_;
  bool started_ = false;
  bool done_ = false;
  Step step_;
  bool pushed_ = false;  // step_'s push is acknowledged
  Sequence sequence_;
  absl::Time alarm_ = absl::InfiniteFuture();
};

}  // namespace weir::sim
