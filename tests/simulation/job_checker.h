#pragma once

#include <vector>

#include "absl/time/time.h"
#include "tests/simulation/history_checker.h"
#include "tests/simulation/job_history.h"
#include "tests/simulation/scenario.h"

namespace weir::sim {

/// Judges a whole job, over all its runs; at most one violation a rule. Pure.
std::vector<Violation> CheckJob(const JobHistory& history, const Scenario& scenario,
                                absl::Time end);

/// Whether the run of `chief` committed a checkpoint of max_steps.
bool JobReachedMax(const JobHistory& history, ProcessId chief, const Scenario& scenario);

}  // namespace weir::sim
