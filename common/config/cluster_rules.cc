#include "common/config/cluster_rules.h"

#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weir {
namespace {

const ListedJob kNoJob;

const ListedJob& JobOf(const ListedCluster& cluster, absl::string_view name) {
  const auto found = cluster.find(std::string(name));
  return found == cluster.end() ? kNoJob : found->second;
}

// The word this cluster uses for its chief.
std::string ChiefWord(const ListedCluster& cluster) {
  return cluster.contains("master") ? "master" : "chief";
}

std::string TaskKey(absl::string_view job, int index) {
  return absl::StrCat("cluster.", job, "[", index, "]");
}

// Nothing is there: neither listed nor spoilt by a mistake that was already reported.
bool IsAbsent(const ListedJob& job) { return job.tasks.empty() && !job.unreadable; }

void CheckChief(const ListedCluster& cluster, Mistakes& mistakes) {
  if (cluster.contains("master") && cluster.contains("chief"))
    mistakes.Add("cluster.master",
                 "stands beside chief, and is only the old word for it; keep chief");
  for (const char* word : {"chief", "master"}) {
    const ListedJob& job = JobOf(cluster, word);
    const std::string key = absl::StrCat("cluster.", word);
    if (job.tasks.size() > 1) {
      mistakes.Add(key, absl::StrCat("has ", job.tasks.size(), " tasks; list exactly one"));
    } else if (job.tasks.size() == 1 && !job.tasks.contains(0)) {
      mistakes.Add(key, absl::StrCat("has the index ", job.tasks.begin()->first,
                                     "; the only one has index 0"));
    }
  }
  if (!IsAbsent(JobOf(cluster, "chief")) || !IsAbsent(JobOf(cluster, "master"))) return;
  if (IsAbsent(JobOf(cluster, "worker")))
    mistakes.Add("cluster", "has neither a chief nor a worker; add \"chief\": [\"host:port\"]");
}

void CheckPs(const ListedCluster& cluster, Mistakes& mistakes) {
  if (!IsAbsent(JobOf(cluster, "ps"))) return;
  mistakes.Add("cluster.ps",
               "has no task, and weir keeps the weights on ps; add \"ps\": [\"host:port\"] and "
               "start that task too (or take the cluster out to run all on this machine)");
}

void CheckEvaluator(const ListedCluster& cluster, Mistakes& mistakes) {
  if (cluster.contains("master") && !JobOf(cluster, "evaluator").tasks.empty())
    mistakes.Add("cluster.evaluator", "cannot stand beside master; write chief for master");
}

void CheckAddresses(const ListedCluster& cluster, Mistakes& mistakes) {
  std::map<std::string, std::string> seen;  // address to the key that has it
  std::string first_loopback, first_other;
  for (const auto& [name, job] : cluster) {
    for (const auto& [index, address] : job.tasks) {
      if (!address.has_value()) continue;
      const std::string key = TaskKey(name, index);
      const auto [earlier, is_new] = seen.emplace(CanonicalAddress(*address), key);
      if (!is_new)
        mistakes.Add(key, absl::StrCat(Quoted(address->ToString()), " is also the address of ",
                                       earlier->second, "; give each task its own"));
      std::string& first = IsLoopback(*address) ? first_loopback : first_other;
      if (first.empty()) first = absl::StrCat(key, " (", Quoted(address->ToString()), ")");
    }
  }
  if (first_loopback.empty() || first_other.empty()) return;
  mistakes.Add("cluster",
               absl::StrCat("mixes loopback, ", first_loopback, ", with other hosts, ", first_other,
                            "; write a name or address that every host can reach, or "
                            "loopback everywhere"));
}

// "0, 1, 2, ... (40 in all)".
std::string Indices(const ListedJob& job) {
  constexpr std::size_t kMost = 8;
  std::string text;
  std::size_t count = 0;
  for (const auto& [index, address] : job.tasks) {
    if (count++ == kMost) break;
    absl::StrAppend(&text, text.empty() ? "" : ", ", index);
  }
  if (job.tasks.size() > kMost) absl::StrAppend(&text, ", ... (", job.tasks.size(), " in all)");
  return text;
}

// How to say what was meant when `type` names a job without tasks.
std::string WayOutOfNoTask(const ListedCluster& cluster, const std::string& type) {
  const std::string chief = ChiefWord(cluster);
  if (type == "chief" || type == "master") {
    if (!IsAbsent(JobOf(cluster, chief))) return absl::StrCat("; write \"", chief, "\"");
    return "; the lowest worker's process is the chief too";
  }
  if (type == "worker") return absl::StrCat("; the ", chief, "'s process is worker 0 too");
  return "";
}

void CheckTask(const ListedCluster& cluster, const ListedTask& task, Mistakes& mistakes) {
  if (task.type == "evaluator") {
    // It need not be listed, and it serves no port then.
    if (cluster.contains("master"))
      mistakes.Add("task.type", "\"evaluator\" cannot stand beside master; write chief for master");
    return;
  }
  const ListedJob& job = JobOf(cluster, task.type);
  if (IsAbsent(job)) {
    mistakes.Add("task.type", absl::StrCat(Quoted(task.type),
                                           " is a job without tasks in this "
                                           "cluster",
                                           WayOutOfNoTask(cluster, task.type)));
  } else if (task.index.has_value() && !job.unreadable && !job.tasks.contains(*task.index)) {
    mistakes.Add("task.index", absl::StrCat(*task.index, " is not a task of ", task.type,
                                            "; the cluster lists ", Indices(job)));
  }
}

std::map<int, std::string> Addresses(const ListedJob& job) {
  std::map<int, std::string> addresses;
  for (const auto& [index, address] : job.tasks) {
    if (address.has_value()) addresses.emplace(index, address->ToString());
  }
  return addresses;
}

bool AllLoopback(const ListedCluster& cluster) {
  for (const auto& [name, job] : cluster) {
    for (const auto& [index, address] : job.tasks) {
      if (address.has_value() && !IsLoopback(*address)) return false;
    }
  }
  return true;
}

RoleType RoleOf(absl::string_view type) {
  if (type == "worker") return RoleType::kWorker;
  if (type == "ps") return RoleType::kPs;
  if (type == "evaluator") return RoleType::kEvaluator;
  return RoleType::kChief;
}

ClusterSpec Assemble(const ListedCluster& cluster, const std::optional<ListedTask>& task) {
  ClusterSpec spec;
  spec.chief = Addresses(JobOf(cluster, ChiefWord(cluster)));
  spec.worker = Addresses(JobOf(cluster, "worker"));
  spec.ps = Addresses(JobOf(cluster, "ps"));
  spec.evaluator = Addresses(JobOf(cluster, "evaluator"));
  spec.worker_hosts_chief = spec.chief.empty();
  spec.chief_hosts_worker = spec.worker.empty();
  if (spec.worker_hosts_chief && !spec.worker.empty())
    spec.chief.emplace(0, spec.worker.begin()->second);
  if (spec.chief_hosts_worker && !spec.chief.empty())
    spec.worker.emplace(0, spec.chief.begin()->second);
  spec.loopback_only = AllLoopback(cluster);
  if (task.has_value()) spec.self = Task{RoleOf(task->type), task->index.value_or(0)};
  return spec;
}

}  // namespace

ClusterSpec ApplyClusterRules(const ListedCluster& cluster, const std::optional<ListedTask>& task,
                              Mistakes& mistakes) {
  CheckChief(cluster, mistakes);
  CheckPs(cluster, mistakes);
  CheckEvaluator(cluster, mistakes);
  CheckAddresses(cluster, mistakes);
  if (task.has_value()) CheckTask(cluster, *task, mistakes);
  return Assemble(cluster, task);
}

}  // namespace weir
