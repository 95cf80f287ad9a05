#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "common/base/bytes.h"
#include "tests/simulation/history.h"
#include "tests/simulation/processes.h"
#include "worker/client/logic/client_logic.h"

namespace weir::sim {

class SimCluster;

/// One life of a worker: takes a step, pulls, computes a gradient, pushes, and so on until it is
/// told that the job is finished.
class SimWorker final : private ClientOutput {
 public:
  /// `links` are its accepted connections, by shard. `ended` is called once, from the scheduler,
  /// when it takes no more steps: with an error, or well.
  SimWorker(SimCluster& cluster, const Life& life, ProcessId process,
            const std::vector<ShardLink>& links, std::function<void(absl::Status)> ended);
  ~SimWorker() override;

  void Start();
  void OnView(ViewNumber view);
  void OnPushAck(ShardIndex shard, const wire::PushAck& ack);
  void OnPullBlock(ShardIndex shard, const wire::PullBlock& header, ByteSpan payload);
  void OnTicketReply(ShardIndex shard, const wire::TicketReply& reply);

  void OnPeerDown(ShardIndex shard);
  /// The job is over for it: whatever goes on ends with `why`.
  void Abort(const absl::Status& why);
  /// It leaves after its step.
  void Interrupt() { interrupted_ = true; }

  ProcessId process() const { return process_; }
  bool done() const { return done_; }
  std::uint64_t steps() const { return steps_; }

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
  void TellWhenDone();
  absl::Time now() const;
  absl::Time deadline() const;

  SimCluster& cluster_;
  const Life life_;
  const ProcessId process_;
  std::function<void(absl::Status)> ended_;  // empty once called
  ClientLogic logic_;
  std::vector<std::vector<float>> gradients_;  // by block
  std::vector<int> pushes_being_read_;         // by shard
  std::set<Operation> running_;
  bool started_ = false;
  bool done_ = false;
  bool interrupted_ = false;
  std::uint64_t steps_ = 0;
  absl::Status failure_;
  Step step_;
  bool pushed_ = false;  // step_'s push is acknowledged
  Sequence sequence_;
  absl::Time alarm_ = absl::InfiniteFuture();
};

}  // namespace weir::sim
