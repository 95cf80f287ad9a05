#include "bench/common/output_file.h"

#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
#include "weir/exit_code.h"

namespace weir::bench {

absl::Status ProbeOutput(const std::string& flag, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const absl::Status probe = ProbeFile(path);
  return WithExitCode(
      absl::Status(probe.code(), absl::StrCat(flag, " ", path, ": ", probe.message())),
      ExitCode::kBadUsage);
}

absl::Status WriteOutput(const std::string& path, const std::string& text) {
  return path.empty() ? absl::OkStatus() : WriteFileAtomically(path, text);
}

}  // namespace weir::bench
