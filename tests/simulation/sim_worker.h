#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "common/base/bytes.h"
#include "tests/simulation/history.h"
#include "tests/simulation/processes.h"
#include "tests/simulation/sim_shard.h"
#include "tests/simulation/step_plan.h"
#include "worker/client/logic/client_logic.h"

namespace weir::sim {

class SimCluster;

/// One life of a worker: takes a step and weights, computes gradients, pushes them, and so on until
/// it is told that the job is finished. Some steps push whole models, some tensor by tensor.
class SimWorker final : private ClientOutput {
 public:
  /// `links` are its accepted connections, by shard, and `mappings` the memory that it has mapped
  /// there; who has any is mapped by its shards, too. Of one who is `far` the shards read gradients
  /// from afar. `ended` is called once, from the scheduler,
  /// when it takes no more steps: with an error, or well.
  SimWorker(SimCluster& cluster, const Life& life, ProcessId process,
            const std::vector<ShardLink>& links,
            const std::vector<std::optional<SimMapping>>& mappings, bool far,
            std::function<void(absl::Status)> ended);
  ~SimWorker() override;

  void Start();
  void OnView(ViewNumber view);
  void OnPushAck(ShardIndex shard, const wire::PushAck& ack);
  void OnPullBlock(ShardIndex shard, const wire::PullBlock& header, ByteSpan payload);
  void OnTicketReply(ShardIndex shard, const wire::TicketReply& reply);

  void OnPeerDown(ShardIndex shard);
  /// The job is over for it: whatever goes on ends with `why`.
  void Abort(const absl::Status& why);
  /// It leaves: now when it waits for a step, else after its step.
  void Interrupt();

  ProcessId process() const { return process_; }
  bool done() const { return done_; }
  std::uint64_t steps() const { return steps_; }

 private:
  enum class Stage {
    kAsking,      // for the next step
    kPulling,     // the rest of a step's weights
    kPushing,     // all gradients, perhaps with a pull beside
    kExchanging,  // tensor by tensor
    kReleasing,
    kLeaving,  // whatever is under way ends first
  };

  void SendPush(ShardIndex to, const wire::PushBlock& header) override;
  void SendPull(ShardIndex to, const wire::PullRequest& header) override;
  std::optional<Version> TryRead(const MappedRead& read) override;
  void SendTicket(ShardIndex to, const wire::TicketRequest& header) override;
  void DeliverBlock(BlockId block, Version version, ByteSpan payload) override;
  void CloseShard(ShardIndex shard, const absl::Status& why) override;

  void AskForStep(std::optional<Step> completed, NextWeights weights);
  void InterruptWaitLater();
  void InterruptWait();
  void Release(std::optional<Step> completed);
  void FinishStep(NextWeights weights);
  bool LeavesNow();
  void TakeStep(Step step);
  void StartPush();
  void StartExchange();
  void ComputeLater();
  void Compute();
  void ReadWeights(std::size_t tensor);
  void MakeGradient(std::size_t tensor);

  /// Looks at what has ended, goes on, and sets the alarm.
  void Proceed();
  void ProceedStage();
  void ProceedFromAnswer();
  bool Ended(Operation what, const std::optional<absl::Status>& result);
  bool running(Operation what) const { return running_.contains(what); }
  void Begin(Operation what);
  /// The logic starts pulls by itself; their numbers tell.
  void NotePull();
  void SetAlarm();
  /// Calls `what` on this worker after a while, if it still lives then.
  void After(absl::Duration delay, void (SimWorker::*what)());

  /// What a repetition or a plant may find: whatever is there by then.
  bool PushesFromMemory(ShardIndex to) const { return mappings_[to.value()].has_value(); }
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
  const std::vector<std::optional<SimMapping>> mappings_;  // by shard
  const bool far_;
  // By block. Shared with who has them mapped.
  std::vector<std::shared_ptr<std::vector<float>>> gradients_;
  std::vector<std::vector<float>> read_before_;  // by block; for a plant
  ViewNumber told_;                              // the newest view
  std::vector<Version> weights_;                 // by block: the version that was delivered last
  std::vector<int> pushes_being_read_;           // by shard
  std::set<Operation> running_;
  Stage stage_ = Stage::kAsking;
  bool started_ = false;
  bool done_ = false;
  std::optional<Step> completed_;  // as told with the last question for a step
  bool interrupted_ = false;       // its wait for a step was
  bool told_to_leave_ = false;
  std::uint64_t steps_ = 0;
  absl::Status failure_;
  Step step_;
  Sequence sequence_;
  RequestId pull_;      // the last one seen
  RequestId own_pull_;  // of the step under way
  StepPlan plan_;
  bool computing_ = false;  // an item of the plan is on its way
  absl::Time alarm_ = absl::InfiniteFuture();
};

}  // namespace weir::sim
