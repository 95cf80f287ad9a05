#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace weir {

enum class RoleType { kChief, kWorker, kPs, kEvaluator };

/// "chief", "worker", "ps", "evaluator".
absl::string_view RoleName(RoleType role);

/// One task of the cluster; `chief` has index 0.
struct Task {
  RoleType role = RoleType::kWorker;
  int index = 0;
  friend auto operator<=>(const Task&, const Task&) = default;
  std::string ToString() const;  ///< "ps 0"; "chief"
};

/// A checked cluster: who is in it, where each serves, and who this process is.
struct ClusterSpec {
  /// host:port by index; gaps are legal. The chief's map has exactly one entry, which may equal a
  /// worker's (see the two flags). An evaluator need not be listed.
  std::map<int, std::string> chief, worker, ps, evaluator;
  Task self;
  /// No chief was listed: worker 0's process (the lowest worker's) hosts the chief too.
  bool worker_hosts_chief = false;
  /// No worker was listed: the chief's process hosts worker 0 too, and its address is the chief's.
  bool chief_hosts_worker = false;
  /// Every address is literal loopback: listen on loopback only.
  bool loopback_only = false;

  const std::map<int, std::string>& addresses(RoleType role) const;
  std::string chief_address() const { return chief.begin()->second; }
  int ps_count() const { return static_cast<int>(ps.size()); }
  int worker_count() const { return static_cast<int>(worker.size()); }
};

}  // namespace weir
