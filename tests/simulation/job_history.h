#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "chief/logic/chief.h"
#include "chief/logic/member_id.h"
#include "common/base/ids.h"
#include "tests/simulation/processes.h"
#include "tests/simulation/scenario.h"

namespace weir::sim {

/// One life of one task.
struct TaskLife {
  chief::MemberId task;
  Incarnation incarnation;
  friend auto operator<=>(const TaskLife&, const TaskLife&) = default;
};

// What happened to a job, over all its runs, in the order in which it happened. A run is what one
// chief process leads; the data path of each has a History of its own.

struct TaskStarted {
  ProcessId process;
  TaskLife who;
};
/// kFreeze: until `until`. kStop: SIGTERM. kCut: its Session stream breaks, both live.
struct TaskHit {
  ProcessId process;
  FaultKind kind;
  absl::Time until;
};
struct TaskEnded {
  ProcessId process;
  int exit_code;
  std::string reason;
};

/// A chief began to lead a run, from `resumed` (Step(0), or a committed checkpoint). `intact`: what
/// it reads there is what was committed.
struct RunStarted {
  ProcessId chief;
  Step resumed;
  bool intact = true;
};
struct PhaseEntered {
  ProcessId chief;
  chief::Phase phase;
};
struct RunFinished {
  ProcessId chief;
  int exit_code;
  std::string reason;
};
/// The chief made a member live, as a stream of `process`.
struct MemberOpened {
  ProcessId chief;
  ProcessId process;
};
/// The chief handled a message of the member (its first one is MemberOpened).
struct MemberHeard {
  ProcessId chief;
  ProcessId process;
};
/// The chief itself was held up and gives everybody until `until`.
struct LeasesHeld {
  ProcessId chief;
  absl::Time until;
};
/// The chief closed the member's session. `silent`: for an expired lease.
struct MemberDropped {
  ProcessId chief;
  ProcessId process;
  bool silent;
};
/// Of one run; sent first to somebody now.
struct ViewPublished {
  ProcessId chief;
  ViewNumber view;
  std::vector<TaskLife> live;
};
/// `rdma`: what its data path was made for; Undecided: it has none.
struct ViewTaken {
  ProcessId process;
  ViewNumber view;
  wire::RdmaUse rdma = wire::RdmaUse::Undecided;
};
/// The member heard how its job ended, or found that its chief is gone.
struct EndHeard {
  ProcessId process;
  int exit_code;
};
struct ChiefMissed {
  ProcessId process;
};
/// The answer that its job has ended was lost: it may find nobody to ask again.
struct EndUnheard {
  ProcessId process;
};

/// A manifest appeared, by the committer of `chief`. `whole`: with the files of every shard, each
/// complete and of this run.
struct CheckpointCommitted {
  ProcessId chief;
  Step step;
  bool is_final;
  bool whole;
};
struct CheckpointMarkedFinal {
  Step step;
};
struct CheckpointPruned {
  Step step;
};

struct JobEvent {
  absl::Time at;
  std::variant<TaskStarted, TaskHit, TaskEnded, RunStarted, PhaseEntered, RunFinished, MemberOpened,
               MemberHeard, LeasesHeld, MemberDropped, ViewPublished, ViewTaken, EndHeard,
               ChiefMissed, EndUnheard, CheckpointCommitted, CheckpointMarkedFinal,
               CheckpointPruned>
      what;
};
using JobHistory = std::vector<JobEvent>;

std::string ToString(const TaskLife& life);
std::string ToString(const JobEvent& event);

}  // namespace weir::sim
