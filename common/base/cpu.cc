#include "common/base/cpu.h"

#include <sched.h>

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "weir/exit_code.h"

namespace weir {

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

absl::Status PinToCpus(std::span<const int> cpus) {
  const std::vector<int> allowed = AllowedCpus();
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (std::ranges::find(allowed, cpu) == allowed.end()) {
      return WithExitCode(
          absl::InvalidArgumentError(absl::StrCat("this process may not run on CPU ", cpu)),
          ExitCode::kBadUsage);
    }
    CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  if (sched_setaffinity(0, sizeof set, &set) == 0) return absl::OkStatus();
  return WithExitCode(absl::InvalidArgumentError(absl::StrCat(
                          "this process cannot be pinned to CPU ", absl::StrJoin(cpus, ", "))),
                      ExitCode::kBadUsage);
}

absl::Status PinToCpu(int cpu) { return PinToCpus({&cpu, 1}); }

}  // namespace weir
