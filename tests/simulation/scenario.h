#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/ids.h"

namespace weir::sim {

/// A bug in the harness (never in the shipping code), to see that the checker finds it.
enum class Plant {
  kNone,
  kReapplyRepeats,    ///< a repeated push looks like a new one to the shard
  kAcknowledgeLost,   ///< a push that the network lost is acknowledged
  kPushReadLate,      ///< the client is told that a push was read before it was
  kBlockReadLate,     ///< the same for the shard and its blocks
  kIgnoreViews,       ///< shards hear of the first view only
  kNoTicks,           ///< clients never look at the clock
  kAcknowledgeEarly,  ///< a push is acknowledged when it is sent
  kGradientEarly,     ///< the client is told that a gradient is ready before it is made
};

std::optional<Plant> PlantNamed(const std::string& name);

/// What kReapplyRepeats adds to a sequence, far above any real one, and takes off the answer.
inline constexpr std::uint64_t kRemapped = std::uint64_t{1} << 32;

/// A worker that goes: it dies or, as a zombie, goes on although it was declared dead.
struct Death {
  WorkerIndex worker;
  absl::Duration at;
  absl::Duration noticed_after;
  bool zombie = false;
  std::optional<absl::Duration> restarts_after;
};

/// All that differs between two runs.
struct Scenario {
  std::uint64_t seed = 0;
  Plant plant = Plant::kNone;

  int shards = 1;
  int workers = 1;
  std::vector<std::int64_t> tensors;  ///< elements of each
  float learning_rate = 1;
  Step start_step;
  Step max_steps;
  int push_credits = 1;
  int pull_credits = 1;
  int spares = 1;

  double drop = 0;
  double duplicate = 0;
  double slow = 0;  ///< of the messages that take up to `slow_delay`, not `delay`
  absl::Duration delay;
  absl::Duration slow_delay;

  std::vector<Death> deaths;
  std::optional<absl::Duration> stop_at;
  std::optional<absl::Duration> snapshot_every;
  double overlap = 0;      ///< pushes during which the worker pulls
  double by_tensor = 0;    ///< steps that push tensor by tensor
  absl::Duration compute;  ///< at most, for each tensor of those, forward and backward
  /// Chance of a worker other than the first, in each of its steps, to leave: after the push, with
  /// the step in hand, and by an interrupt of its wait for one.
  double release_early = 0;
  bool wait_for_view = true;  ///< workers start with a view, not before

  std::string Describe() const;
};

Scenario MakeScenario(std::uint64_t seed, Plant plant);

}  // namespace weir::sim
