#include "common/base/numa.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/base/cpu.h"

namespace weir {

std::vector<int> CpusInList(absl::string_view list) {
  std::vector<int> cpus;
  for (const absl::string_view part : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, '-');
    int first = 0;
    int last = 0;
    if (!absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last)) continue;
    for (int cpu = std::max(first, 0); cpu <= std::min(last, CPU_SETSIZE - 1); ++cpu) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

std::vector<std::vector<int>> NumaNodes(const std::string& sysfs) {
  const std::vector<int> allowed = AllowedCpus();
  std::vector<std::vector<int>> nodes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(sysfs, error)) {
    std::ifstream file(entry.path() / "cpulist");
    std::string list;
    if (!std::getline(file, list)) continue;
    std::vector<int> cpus;
    for (const int cpu : CpusInList(list)) {
      if (std::ranges::find(allowed, cpu) != allowed.end()) cpus.push_back(cpu);
    }
    if (!cpus.empty()) nodes.push_back(std::move(cpus));
  }
  std::ranges::sort(nodes);
  if (nodes.empty()) nodes.push_back(allowed);
  return nodes;
}

CpuBound::CpuBound(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  bound_ = sched_getaffinity(0, sizeof before_, &before_) == 0 &&
           sched_setaffinity(0, sizeof set, &set) == 0;
}

CpuBound::~CpuBound() {
  if (bound_) sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace weir
