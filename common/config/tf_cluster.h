#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/config/address.h"
#include "common/config/mistakes.h"

namespace weir {

/// The largest index of a task that serves: worker and shard indices have 16 bits.
inline constexpr int kMaxTaskIndex = 65534;

/// One job of TF_CONFIG's `cluster`, as written.
struct ListedJob {
  /// By index; none for an address that was reported as wrong, so that what follows does not also
  /// complain that the task is missing.
  std::map<int, std::optional<HostPort>> tasks;
  /// The job's value was unusable: nothing may be concluded from what `tasks` lacks.
  bool unreadable = false;
};

/// By name, only the legal ones: chief, master, worker, ps, evaluator. `[]` is a job with no task.
using ListedCluster = std::map<std::string, ListedJob, std::less<>>;

/// Reads the `cluster` object; jobs, indices and addresses are checked each by itself here, what
/// they mean together in cluster_rules.h.
ListedCluster ReadTfCluster(const nlohmann::json& cluster, Mistakes& mistakes);

}  // namespace weir
