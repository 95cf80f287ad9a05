#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tests/simulation/sim_member.h"
#include "tests/simulation/sim_shard.h"

namespace weir::sim {

/// A ps: loads its weights while it keeps its place, serves its shards, does what the chief asks.
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

  ShardIndex IndexOf(std::size_t thread) const;
  std::unique_ptr<SimShard> MakeShard(std::size_t thread);

  std::vector<std::unique_ptr<SimShard>> shards_;  // by thread; empty before there is a session
};

}  // namespace weir::sim
