#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "doctor/check.h"

namespace weir::doctor {

/// RLIMIT_NOFILE against what a role of a cluster of `tasks` tasks opens.
Check CheckOpenFiles(std::uint64_t soft_limit, std::uint64_t hard_limit, int tasks);

/// The text of /proc/sys/kernel/yama/ptrace_scope; none: this kernel does not have Yama.
Check CheckPtrace(const std::optional<std::string>& scope);

}  // namespace weir::doctor
