#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/options.h"

namespace weir {

/// Runs a whole cluster on this machine: chief, ps, workers and, where asked for, an evaluator,
/// each a process of its own; brings their logs together on stderr, with a line of progress on a
/// terminal; ends with the job. Writes the summary with what the processes cost, and prints a table
/// of it to stdout.
///
/// The first SIGTERM or SIGINT ends the job in order. No process outlives this one. Call before
/// anything of gRPC or UCX was initialised. Returns the exit code; errors (with theirs) are of
/// starting only.
///
/// Each member is this program, started with `command` (its name first) and WEIR_MEMBER set: it
/// must then call RunAssignedMember. Where `worker_program` is not empty, each worker is that
/// program with those arguments, with TF_CONFIG and WEIR_TOKEN in its environment; what it prints
/// to stdout is tagged with its task.
absl::StatusOr<int> RunLocalCluster(const LocalArguments& arguments,
                                    std::vector<std::string> command,
                                    std::vector<std::string> worker_program = {});

}  // namespace weir
