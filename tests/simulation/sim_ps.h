#pragma once

#include <memory>

#include "tests/simulation/sim_member.h"
#include "tests/simulation/sim_shard.h"

namespace weir::sim {

/// A ps: loads its weights while it keeps its place, serves its shard, does what the chief asks.
class SimPs final : public SimMember {
 public:
  using SimMember::SimMember;

  void OnDeath() override;
  void EndLife() override;

 private:
  void OnWelcome() override;
  void OnOpen() override;
  void OnView(const wire::ViewT& view) override;
  void OnCommand(const wire::ChiefMessageT& message) override;
  void OnStopInSession() override;
  std::uint64_t progress() const override;

  ShardIndex index() const { return ShardIndex(static_cast<std::uint16_t>(who().task.index)); }

  std::unique_ptr<SimShard> shard_;
};

}  // namespace weir::sim
