#include "tests/simulation/sim_ps.h"

#include <utility>
#include <vector>

#include "tests/simulation/sim_chief.h"
#include "tests/simulation/sim_cluster.h"

namespace weir::sim {

void SimPs::OnWelcome() {
  const absl::Duration lease = world_.scenario().lease;
  const bool slow = world_.random().Chance(0.1);
  KeepPlace();
  After(world_.random().Upto(slow ? lease * 2 : absl::Milliseconds(50)), [this] {
    if (!leaving()) OpenSession();
  });
}

// The run is that of the chief that the session is with. One that welcomed this ps and died since
// cannot have trained without it, so the weights are the same.
void SimPs::OnOpen() {
  shards_.clear();
  for (int t = 0; t < world_.scenario().ps_threads; ++t) {
    shards_.push_back(MakeShard(static_cast<std::size_t>(t)));
  }
}

ShardIndex SimPs::IndexOf(std::size_t thread) const {
  return world_.layout().shard_of(static_cast<int>(who().task.index), static_cast<int>(thread));
}

// As the shipping server does it, each says which thread reports.
std::unique_ptr<SimShard> SimPs::MakeShard(std::size_t thread) {
  return std::make_unique<SimShard>(run(), IndexOf(thread), process(),
                                    [this, thread](wire::MemberBodyUnion body) {
                                      if (auto* done = body.AsCheckpointDone())
                                        done->thread = static_cast<std::uint32_t>(thread);
                                      if (auto* stats = body.AsStats())
                                        stats->thread = static_cast<std::uint32_t>(thread);
                                      SendAny(std::move(body));
                                    });
}

std::uint64_t SimPs::progress() const {
  return shards_.empty() ? 0 : shards_.front()->global_step().value();
}

void SimPs::OnView(const wire::ViewT& view) {
  // Only now: the chief may have refused this session, for another process's.
  for (std::size_t t = 0; t < shards_.size(); ++t) {
    if (shards_[t]->view() == ViewNumber(0)) run().AddShard(IndexOf(t), shards_[t].get());
  }
  std::vector<Life> live;
  for (const auto& member : view.members) {
    if (member->role != wire::Role::Worker) continue;
    live.push_back(
        {WorkerIndex(static_cast<std::uint16_t>(member->index)), Incarnation(member->incarnation)});
  }
  for (const auto& shard : shards_) shard->OnView(ViewNumber(view.number), live);
}

void SimPs::OnCommand(const wire::ChiefMessageT& message) {
  for (const auto& shard : shards_) {
    if (const auto* take = message.body.AsTakeCheckpoint()) {
      shard->TakeCheckpoint(take->id, Step(take->step), leader()->process());
    } else if (message.body.AsStopTraining() != nullptr) {
      shard->StopTraining();
    } else if (message.body.AsSendStats() != nullptr) {
      shard->SendStats();
    }
  }
}

void SimPs::OnStopInSession() {
  wire::StopRequestedT request;
  request.reason = "told to stop";
  Send(std::move(request));
}

// Without its shards nobody in the run can go on.
void SimPs::EndLife() {
  if (!shards_.empty()) run().EndAllLives();
}

void SimPs::OnDeath() {
  SimMember::OnDeath();
  for (const auto& shard : shards_) shard->Disconnect();
}

}  // namespace weir::sim
