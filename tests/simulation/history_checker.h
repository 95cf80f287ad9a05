#pragma once

#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/model/layout.h"
#include "tests/simulation/history.h"

namespace weir::sim {

/// What weir claims.
enum class Rule {
  kAppliedOnce,      ///< no block of a push is applied twice
  kAcknowledged,     ///< an acknowledged push is applied, every block of it
  kVersions,         ///< a block's versions count its updates one by one
  kFenced,           ///< nothing of a life that is not in the shard's view is applied
  kSerialSum,        ///< the final weights are the serial sum of what was applied
  kWholeBlocks,      ///< what is pulled or saved is exactly one version of a block
  kReadsOwnWrites,   ///< a pull follows the worker's own acknowledged pushes
  kMappedReads,      ///< memory is read in the shard's own view, by who is in it
  kBaseVersions,     ///< a step's weights stay while it reads them, and are what its push names
  kPullComplete,     ///< a pull delivers every block once, and only while it goes on
  kSteps,            ///< each step counted once, after its push; the job ends at exactly max
  kEnds,             ///< every operation of the living ends, well, and one at a time
  kLimits,           ///< nothing passes its limit
  kLentBytes,        ///< nobody writes to bytes that the network reads
  kNobodyAccused,    ///< who is correct is not taken for malicious
  kCheckpointHolds,  ///< a checkpoint holds every update of the steps that it counts
  // Of the job.
  kEveryoneEnds,        ///< every process and phase ends, within the documented bounds
  kExitCodes,           ///< as documented
  kCheckpointWhole,     ///< a committed checkpoint has every shard's file, all of its run
  kCheckpointsAdvance,  ///< each is of a later step than those before
  kOneCommitter,        ///< only the newest chief commits, while it lives
  kFinalMark,           ///< the last one is final, at exactly max_steps
  kResume,              ///< a run goes on from the newest: nothing committed is lost
  kPruning,             ///< never removes the newest, nor more than it should
  kViews,               ///< their numbers grow
  kOnePath,             ///< all ps and workers of a run use RDMA, or none
  kNoReturn,            ///< who is gone from a view never comes back
  kLease,               ///< who renews in time is not declared lost
  kEndWaits,            ///< a run ends when everybody has heard so, or the linger is over
};

const char* RuleName(Rule rule);

struct Violation {
  Rule rule;
  std::string what;
};

struct Expected {
  const Layout* layout;
  float learning_rate;
  Step start_step;
  Step max_steps;
  bool stopped = false;  ///< training was stopped before max_steps, perhaps
  /// The weights at the start, by block; null: InitialValue's.
  const std::vector<std::vector<float>>* first = nullptr;
};

/// Judges a whole run; at most one violation a rule. Pure. Gradients are GradientOf's.
std::vector<Violation> CheckHistory(const History& history, const Expected& expected);

}  // namespace weir::sim
