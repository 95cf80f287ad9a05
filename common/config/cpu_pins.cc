#include "common/config/cpu_pins.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/cpu.h"
#include "common/base/status_macros.h"

namespace weir {
namespace {

constexpr std::array kRoles = {RoleType::kChief, RoleType::kWorker, RoleType::kPs,
                               RoleType::kEvaluator};

bool MayUse(int cpu) {
  const std::vector<int> allowed = AllowedCpus();
  return std::ranges::find(allowed, cpu) != allowed.end();
}

absl::StatusOr<std::vector<int>> ParseCpus(absl::string_view text) {
  std::vector<int> cpus;
  for (const absl::string_view part : absl::StrSplit(text, '+')) {
    int cpu = -1;
    if (!absl::SimpleAtoi(part, &cpu) || !MayUse(cpu)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "names CPU '", part, "', which this process may not use; see taskset -p $$"));
    }
    cpus.push_back(cpu);
  }
  return cpus;
}

absl::StatusOr<CpuPins> Parse(absl::string_view text) {
  CpuPins pins;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const auto* const role = std::ranges::find(kRoles, sides.first, RoleName);
    if (role == kRoles.end() || sides.second.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("has the part '", part,
                       "'; write ROLE=CPU+CPU with commas between, as in worker=0,ps=1"));
    }
    WEIR_ASSIGN_OR_RETURN(pins.cpus[*role], ParseCpus(sides.second));
  }
  return pins;
}

}  // namespace

int CpuPins::CpuOf(const Task& task) const {
  const auto found = cpus.find(task.role);
  if (found == cpus.end() || found->second.empty()) return -1;
  return found->second[static_cast<std::size_t>(task.index) % found->second.size()];
}

FlagValue CpuPinsValue(CpuPins& target) {
  return {[&target](absl::string_view text) -> absl::Status {
            WEIR_ASSIGN_OR_RETURN(target, Parse(text));
            return absl::OkStatus();
          },
          [&target]() -> std::optional<std::string> {
            if (target.cpus.empty()) return std::nullopt;
            return absl::StrJoin(target.cpus, ",", [](std::string* out, const auto& entry) {
              absl::StrAppend(out, RoleName(entry.first), "=", absl::StrJoin(entry.second, "+"));
            });
          }};
}

}  // namespace weir
