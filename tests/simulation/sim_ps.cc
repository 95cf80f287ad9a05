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
  shard_ = std::make_unique<SimShard>(
      run(), index(), process(), [this](wire::MemberBodyUnion body) { SendAny(std::move(body)); });
}

std::uint64_t SimPs::progress() const {
  return shard_ == nullptr ? 0 : shard_->global_step().value();
}

void SimPs::OnView(const wire::ViewT& view) {
  // Only now: the chief may have refused this session, for another process's.
  if (shard_->view() == ViewNumber(0)) run().AddShard(index(), shard_.get());
  std::vector<Life> live;
  for (const auto& member : view.members) {
    if (member->role != wire::Role::Worker) continue;
    live.push_back(
        {WorkerIndex(static_cast<std::uint16_t>(member->index)), Incarnation(member->incarnation)});
  }
  shard_->OnView(ViewNumber(view.number), live);
}

void SimPs::OnCommand(const wire::ChiefMessageT& message) {
  if (const auto* take = message.body.AsTakeCheckpoint()) {
    shard_->TakeCheckpoint(take->id, Step(take->step), leader()->process());
  } else if (message.body.AsStopTraining() != nullptr) {
    shard_->StopTraining();
  } else if (message.body.AsSendStats() != nullptr) {
    shard_->SendStats();
  }
}

void SimPs::OnStopInSession() {
  wire::StopRequestedT request;
  request.reason = "told to stop";
  Send(std::move(request));
}

// Without its shard nobody in the run can go on.
void SimPs::EndLife() {
  if (shard_ != nullptr) run().EndAllLives();
}

void SimPs::OnDeath() {
  SimMember::OnDeath();
  if (shard_ != nullptr) shard_->Disconnect();
}

}  // namespace weir::sim
