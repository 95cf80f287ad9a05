#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "schemas/shard_generated.h"
#include "tests/simulation/sim_member.h"
#include "tests/simulation/sim_shard.h"
#include "tests/simulation/sim_worker.h"

namespace weir::sim {

/// A worker: connects to every ps once the view is ready, trains, then waits for the end and
/// evaluates where it is asked to.
class SimWorkerTask final : public SimMember {
 public:
  using SimMember::SimMember;

  void OnDeath() override;
  void EndLife() override;

 private:
  void OnView(const wire::ViewT& view) override;
  void OnCommand(const wire::ChiefMessageT& message) override;
  void OnOver() override;
  void OnStopInSession() override;

  void Connect(ShardIndex shard);
  void OnConnectReply(ShardIndex shard, const wire::ConnectReplyT* reply);
  void BeginTraining();
  void OnTrainingEnded(const absl::Status& status);
  Life life() const {
    return {WorkerIndex(static_cast<std::uint16_t>(who().task.index)), who().incarnation};
  }

  ViewNumber view_;
  std::vector<ShardLink> links_;
  std::vector<std::optional<SimMapping>> mappings_;  // of those who answered
  absl::Time connect_by_;
  bool connecting_ = false;
  bool told_to_stop_ = false;
  bool given_up_ = false;  // the chief's word, perhaps before there is a worker
  std::unique_ptr<SimWorker> worker_;
};

}  // namespace weir::sim
