#include "doctor/cgroup.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "doctor/amounts.h"

namespace weir::doctor {
namespace {

constexpr char kMount[] = "/sys/fs/cgroup";
// Version 1 writes "no limit" as the largest multiple of a page below 2^63.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62U;

struct Membership {
  std::string controllers;  ///< "cpu,cpuacct"; empty: version 2
  std::string path;         ///< "/user.slice/..."
};

std::vector<Membership> MembershipsOf(absl::string_view text) {
  std::vector<Membership> memberships;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    // "4:memory:/path"; a path may have colons of its own.
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() == 3) memberships.push_back({.controllers = parts[1], .path = parts[2]});
  }
  return memberships;
}

// Where the files of `controller` may stand, the process's own group first. In a container the path
// is often the host's, which is not there; the mount's root then is the container's group.
std::vector<std::string> FoldersOf(const std::vector<Membership>& memberships,
                                   const std::string& controller) {
  std::vector<std::string> folders;
  for (const Membership& membership : memberships) {
    std::string mount = kMount;
    if (!membership.controllers.empty()) {
      const std::vector<std::string> names = absl::StrSplit(membership.controllers, ',');
      if (std::ranges::find(names, controller) == names.end()) continue;
      absl::StrAppend(&mount, "/", controller);
    }
    std::string path = membership.path == "/" ? "" : membership.path;
    while (!path.empty()) {
      folders.push_back(mount + path);
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
    folders.push_back(mount);
  }
  return folders;
}

std::optional<std::uint64_t> NumberIn(const HostFiles& files, const std::string& path) {
  const std::optional<std::uint64_t> number = Number(files.Text(path).value_or(""));
  return number.has_value() && *number < kNoLimit ? number : std::nullopt;  // "max" is no number
}

struct Bound {
  std::uint64_t limit = 0;
  std::string folder;
};

std::optional<Bound> LowestOf(const HostFiles& files, const std::vector<std::string>& folders,
                              const std::vector<std::string>& names) {
  std::optional<Bound> lowest;
  for (const std::string& folder : folders) {
    for (const std::string& name : names) {
      const std::optional<std::uint64_t> limit = NumberIn(files, absl::StrCat(folder, "/", name));
      if (limit.has_value() && (!lowest.has_value() || *limit < lowest->limit)) {
        lowest = Bound{.limit = *limit, .folder = folder};
      }
    }
  }
  return lowest;
}

std::optional<double> CpusOf(double quota, double period) {
  return quota > 0 && period > 0 ? std::optional<double>(quota / period) : std::nullopt;
}

std::optional<double> CpusIn(const HostFiles& files, const std::string& folder) {
  double quota = 0;
  double period = 0;
  if (const auto both = files.Text(folder + "/cpu.max")) {  // "max 100000", "150000 100000"
    const std::vector<std::string> words = absl::StrSplit(*both, ' ');
    return words.size() == 2 && absl::SimpleAtod(words[0], &quota) &&
                   absl::SimpleAtod(words[1], &period)
               ? CpusOf(quota, period)
               : std::nullopt;
  }
  return absl::SimpleAtod(files.Text(folder + "/cpu.cfs_quota_us").value_or(""), &quota) &&
                 absl::SimpleAtod(files.Text(folder + "/cpu.cfs_period_us").value_or(""), &period)
             ? CpusOf(quota, period)
             : std::nullopt;  // no limit is a quota of -1
}

std::optional<double> LowestCpus(const HostFiles& files, const std::vector<std::string>& folders) {
  std::optional<double> lowest;
  for (const std::string& folder : folders) {
    const std::optional<double> cpus = CpusIn(files, folder);
    if (cpus.has_value()) lowest = std::min(lowest.value_or(*cpus), *cpus);
  }
  return lowest;
}

Check CheckMemory(const CgroupLimits& limits) {
  constexpr char kName[] = "memory limit";
  // docs/operations.md, sizing: a worker of the built-in job takes 140 MB, a ps 33 MB.
  constexpr std::uint64_t kLeast = 64 * kMiB;
  constexpr std::uint64_t kLittle = 512 * kMiB;
  if (!limits.memory_bytes.has_value()) return Ok(kName, "none");
  const std::uint64_t used = std::min(limits.memory_used_bytes.value_or(0), *limits.memory_bytes);
  const std::uint64_t left = *limits.memory_bytes - used;
  const std::string found =
      absl::StrCat(Bytes(*limits.memory_bytes), " for the control group, ", Bytes(used), " used");
  constexpr char kFix[] =
      "raise memory.max: --memory (Docker), resources.limits.memory (Kubernetes); what a role "
      "takes is in docs/operations.md, Sizing";
  if (left < kLeast) return Fail(kName, found, kFix);
  return left < kLittle ? Warn(kName, found, kFix) : Ok(kName, found);
}

Check CheckCpuTime(const CgroupLimits& limits, int allowed_cpus) {
  constexpr char kName[] = "CPU limit";
  if (!limits.cpus.has_value()) return Ok(kName, "none");
  const std::string found =
      absl::StrFormat("the time of %.3g CPUs, on %d", *limits.cpus, allowed_cpus);
  if (*limits.cpus >= 1) return Ok(kName, found);
  return Warn(
      kName, absl::StrCat(found, ": a role that computes is stopped in every period"),
      "give each worker and ps one CPU: --cpus (Docker), resources.limits.cpu (Kubernetes)");
}

Check CheckTasks(const CgroupLimits& limits) {
  constexpr char kName[] = "task limit";
  // docs/operations.md: about 20 threads a role, the chief two more for each member.
  constexpr std::uint64_t kLeast = 32;
  constexpr std::uint64_t kLittle = 256;
  if (!limits.tasks.has_value()) return Ok(kName, "none");
  const std::string found = absl::StrCat(*limits.tasks, " processes and threads");
  constexpr char kFix[] =
      "raise pids.max: --pids-limit (Docker), TasksMax (systemd), podPidsLimit "
      "(the kubelet); a role has about 20 threads";
  if (*limits.tasks < kLeast) return Fail(kName, found, kFix);
  return *limits.tasks < kLittle ? Warn(kName, found, kFix) : Ok(kName, found);
}

}  // namespace

CgroupLimits ReadCgroupLimits(const HostFiles& files) {
  CgroupLimits limits;
  const std::optional<std::string> text = files.Text("/proc/self/cgroup");
  if (!text.has_value() || !files.Has(kMount)) return limits;
  limits.readable = true;
  const std::vector<Membership> memberships = MembershipsOf(*text);
  const auto memory =
      LowestOf(files, FoldersOf(memberships, "memory"), {"memory.max", "memory.limit_in_bytes"});
  if (memory.has_value()) {
    limits.memory_bytes = memory->limit;
    limits.memory_used_bytes = NumberIn(files, memory->folder + "/memory.current");
    if (!limits.memory_used_bytes.has_value()) {
      limits.memory_used_bytes = NumberIn(files, memory->folder + "/memory.usage_in_bytes");
    }
  }
  limits.cpus = LowestCpus(files, FoldersOf(memberships, "cpu"));
  const auto tasks = LowestOf(files, FoldersOf(memberships, "pids"), {"pids.max"});
  if (tasks.has_value()) limits.tasks = tasks->limit;
  return limits;
}

std::vector<Check> CheckCgroup(const CgroupLimits& limits, int allowed_cpus) {
  if (!limits.readable) {
    return {Unknown("container limits", absl::StrCat("/proc/self/cgroup and ", kMount))};
  }
  return {CheckMemory(limits), CheckCpuTime(limits, allowed_cpus), CheckTasks(limits)};
}

}  // namespace weir::doctor
