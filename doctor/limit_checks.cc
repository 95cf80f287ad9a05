#include "doctor/limit_checks.h"

#include "absl/strings/str_cat.h"
#include "common/config/mistakes.h"
#include "doctor/amounts.h"

namespace weir::doctor {
namespace {

// docs/operations.md, limits of the host: about 25, and one for each peer.
constexpr std::uint64_t kFilesOfARole = 25;
// The distributions' usual limit; who has less has it by somebody's choice.
constexpr std::uint64_t kUsualFiles = 1024;

}  // namespace

Check CheckOpenFiles(std::uint64_t soft_limit, std::uint64_t hard_limit, int tasks) {
  constexpr char kName[] = "open files";
  const std::uint64_t needed = kFilesOfARole + static_cast<std::uint64_t>(tasks);
  const std::string found =
      absl::StrCat("limit ", soft_limit, "; a role of this cluster needs about ", needed);
  const std::string fix = absl::StrCat(
      "ulimit -n 65536", hard_limit < 65536 ? " (as root: the hard limit is lower)" : "",
      "; LimitNOFILE=65536 (systemd)");
  if (soft_limit < needed) return Fail(kName, found, fix);
  // Data sets, a program of the user's own and its libraries open files too.
  if (soft_limit < kUsualFiles || soft_limit < 2 * needed) return Warn(kName, found, fix);
  return Ok(kName, found);
}

Check CheckPtrace(const std::optional<std::string>& scope) {
  constexpr char kName[] = "ptrace scope";
  if (!scope.has_value()) return Ok(kName, "not restricted: this kernel has no Yama");
  const std::optional<std::uint64_t> level = Number(*scope);
  if (!level.has_value() || *level > 3) {
    return Warn(kName, absl::StrCat("unknown: ", Quoted(*scope), " in ptrace_scope"),
                "sysctl kernel.yama.ptrace_scope shows 0 to 3 on kernels known to this version");
  }
  if (*level == 0) return Ok(kName, "0: not restricted");
  if (*level == 1) {
    return Ok(kName, "1: own children only; UCX's cma copies fail, which weir does not use");
  }
  return Warn(kName, absl::StrCat(*level, ": no debugger can attach to a role that hangs"),
              *level == 3 ? "it is locked until the next boot; then kernel.yama.ptrace_scope=1"
                          : "sysctl kernel.yama.ptrace_scope=1, or debug as root");
}

}  // namespace weir::doctor
