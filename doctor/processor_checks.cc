#include "doctor/processor_checks.h"

#include <map>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config/mistakes.h"

namespace weir::doctor {
namespace {

constexpr char kCpuFolder[] = "/sys/devices/system/cpu";

// Those that hold the clock down between steps: a push is short, and is over before they react.
bool IsSlow(const std::string& governor) {
  return governor == "powersave" || governor == "conservative" || governor == "ondemand";
}

}  // namespace

CpuFeatures CpuFeaturesHere() {
  return {.avx2 = __builtin_cpu_supports("avx2") != 0,
          .avx512 = __builtin_cpu_supports("avx512f") != 0};
}

Check CheckCpu(const CpuFeatures& features, std::span<const int> cpus) {
  constexpr char kName[] = "CPU";
  const char* kernels = features.avx512 ? "AVX-512" : features.avx2 ? "AVX2" : "no AVX2";
  const std::string found = absl::StrCat(cpus.size(), " for this process, ", kernels);
  if (features.avx2 || features.avx512) return Ok(kName, found);
  return Warn(kName, absl::StrCat(found, ": the slow kernels compute"),
              "give the virtual machine the host's CPU model (-cpu host), or a newer machine");
}

Check CheckGovernor(const HostFiles& files, std::span<const int> cpus) {
  constexpr char kName[] = "CPU governor";
  if (!files.Has(kCpuFolder)) return Unknown(kName, kCpuFolder);
  std::map<std::string, int> governors;
  for (const int cpu : cpus) {
    const std::optional<std::string> governor =
        files.Text(absl::StrCat(kCpuFolder, "/cpu", cpu, "/cpufreq/scaling_governor"));
    if (governor.has_value()) ++governors[Printable(*governor)];
  }
  if (governors.empty()) return Ok(kName, "none: the frequency is not this system's to choose");
  std::vector<std::string> parts;
  bool slow = false;
  for (const auto& [governor, count] : governors) {
    parts.push_back(absl::StrCat(governor, " on ", count, count == 1 ? " CPU" : " CPUs"));
    slow = slow || IsSlow(governor);
  }
  const std::string found = absl::StrJoin(parts, ", ");
  return slow ? Warn(kName, found, "cpupower frequency-set -g performance, for even step times")
              : Ok(kName, found);
}

Check CheckNuma(const HostFiles& files) {
  constexpr char kName[] = "NUMA";
  constexpr char kNodes[] = "/sys/devices/system/node";
  std::vector<std::string> parts;
  for (const std::string& name : files.Names(kNodes)) {
    int node = 0;
    if (!absl::StartsWith(name, "node") || !absl::SimpleAtoi(name.substr(4), &node)) continue;
    const std::string cpus = files.Text(absl::StrCat(kNodes, "/", name, "/cpulist")).value_or("?");
    parts.push_back(absl::StrCat(node, ": CPUs ", cpus.empty() ? "none" : Printable(cpus)));
  }
  if (parts.empty()) return files.Has(kNodes) ? Ok(kName, "1 node") : Unknown(kName, kNodes);
  if (parts.size() == 1) return Ok(kName, "1 node");
  return Ok(kName, absl::StrCat(parts.size(), " nodes (", absl::StrJoin(parts, "; "),
                                "); numactl -N keeps a role on one"));
}

}  // namespace weir::doctor
