#pragma once

#include <optional>
#include <string>

#include "common/config/cluster_spec.h"
#include "common/config/mistakes.h"
#include "common/config/tf_cluster.h"

namespace weir {

/// Who this process is, as TF_CONFIG's `task` says; `type` is as written ("master" too).
struct ListedTask {
  std::string type;
  std::optional<int> index;  ///< none: missing or wrong, and reported
};

/// Judges jobs and task together (exactly one chief, a ps, no address twice, no loopback among
/// others, the task is listed) and makes the ClusterSpec out of them, which is good only if there
/// were no mistakes, here or before. `task` is none where it was reported as unusable.
ClusterSpec ApplyClusterRules(const ListedCluster& cluster, const std::optional<ListedTask>& task,
                              Mistakes& mistakes);

}  // namespace weir
