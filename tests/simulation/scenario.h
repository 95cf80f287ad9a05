#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "chief/logic/chief.h"
#include "chief/logic/member_id.h"
#include "common/base/ids.h"

namespace weir::sim {

/// A bug in the harness (never in the shipping code), to see that the checker finds it.
enum class Plant {
  kNone,
  // Of the data path.
  kReapplyRepeats,    ///< a repeated push looks like a new one to the shard
  kAcknowledgeLost,   ///< a push that the network lost is acknowledged
  kPushReadLate,      ///< the client is told that a push was read before it was
  kBlockReadLate,     ///< the same for the shard and its blocks
  kIgnoreViews,       ///< shards hear of the first view only
  kNoTicks,           ///< clients never look at the clock
  kAcknowledgeEarly,  ///< a push is acknowledged when it is sent
  kGradientEarly,     ///< the client is told that a gradient is ready before it is made
  kReadTorn,          ///< half of a block that is read from memory is from before
  kReadStaleView,     ///< memory is read whatever the view of its shard
  kHalfFetched,       ///< a gradient that is read from afar is applied before all of it is there
  kFetchFailed,       ///< one that could not be read is applied all the same
  kLandingReused,     ///< where one lands another may, before the device has let go of it
  // Of the job.
  kDeafMembers,        ///< nobody listens to End, nor watches the chief
  kExitZero,           ///< whoever loses the chief exits with 0
  kDoneBeforeWritten,  ///< a shard reports its file before it is there
  kOldCut,             ///< a shard writes its previous cut again
  kResumeOlder,        ///< a chief resumes from the checkpoint before the newest
  kForgetFinal,        ///< manifests lose their final mark
  kViewsReordered,     ///< members get views in any order
  kResurrect,          ///< who has left a shard's view comes back with the next
  kDropHeartbeats,     ///< the chief does not get all that it hears
  kHastyEnd,           ///< the chief exits with its End
  kCommitterLivesOn,   ///< what a killed chief had begun to commit is committed
  kPruneNewest,        ///< pruning removes the newest, not the oldest
};

std::optional<Plant> PlantNamed(const std::string& name);
/// The names, for the usage text.
std::string PlantNames();

/// What kReapplyRepeats adds to a sequence, far above any real one, and takes off the answer.
inline constexpr std::uint64_t kRemapped = std::uint64_t{1} << 32;

enum class FaultKind {
  kKill,
  kFreeze,  ///< for `duration`
  kStop,    ///< SIGTERM
  kCut,     ///< the Session stream breaks, and both ends live
};
const char* FaultText(FaultKind kind);

/// Something that happens to a task once.
struct Fault {
  FaultKind kind;
  chief::MemberId task;
  std::optional<chief::Phase> phase;  ///< `after` counts from when the chief enters it
  absl::Duration after;               ///< without a phase: from the beginning
  absl::Duration duration;
  std::optional<absl::Duration> restarts_after;  ///< another process of the task starts then
};

/// All that differs between two simulated jobs.
struct Scenario {
  std::uint64_t seed = 0;
  Plant plant = Plant::kNone;

  int ps = 1;
  int ps_threads = 1;  ///< shards of each
  int workers = 1;
  int evaluators = 0;
  std::vector<std::int64_t> tensors;  ///< elements of each
  float learning_rate = 1;
  Step max_steps;
  int push_credits = 1;
  int pull_credits = 1;
  int spares = 1;

  double drop = 0;
  double duplicate = 0;
  double slow = 0;  ///< of the messages that take up to `slow_delay`, not `delay`
  absl::Duration delay;
  absl::Duration slow_delay;

  absl::Duration lease;
  absl::Duration start_deadline;
  absl::Duration end_linger;
  absl::Duration grace;
  std::uint64_t save_checkpoints_steps = 0;
  absl::Duration save_checkpoints_secs;
  int keep_checkpoint_max = 1;
  absl::Duration disk_delay;    ///< of one step of writing, at most
  double disk_error = 0;        ///< of shard files, commits and marks
  double evaluation_error = 0;  ///< of evaluations
  double evaluation_hang = 0;

  std::vector<Fault> faults;
  bool restart_each = false;  ///< whoever has ended is started again at once, not with all others
  double overlap = 0;         ///< pushes during which the worker pulls
  double by_tensor = 0;       ///< steps that push tensor by tensor
  absl::Duration compute;     ///< at most, for each tensor of those, forward and backward
  /// Chance of a worker other than the first, in each of its steps, to leave: after the push, with
  /// the step in hand, and by an interrupt of its wait for one.
  double release_early = 0;
  /// Chance of a worker to be on the host of its ps: it reads their memory, and they its.
  double mapped = 0;
  /// Chance of a worker that is on none to have its gradients read from afar by its ps.
  double far = 0;
  absl::Duration fetch;       ///< what that takes, at most, for each block
  double fetch_stalls = 0;    ///< chance of one to take seconds: the link was down
  bool wait_for_view = true;  ///< workers start with a view, not before
  /// Whether the ps and workers, each on a host of its own, can move weights by RDMA; what starts
  /// on the first ps's host after a while cannot.
  bool rdma = false;
  absl::Duration first_ps_has_rdma_for = absl::InfiniteDuration();

  std::string Describe() const;
};

Scenario MakeScenario(std::uint64_t seed, Plant plant);

}  // namespace weir::sim
