#include "doctor/gpu_checks.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/config/mistakes.h"

namespace weir::doctor {
namespace {

// What is built into the kernel has a folder in /sys only, and containers may hide either.
bool IsLoaded(const HostFiles& files, const std::string& modules, const std::string& name) {
  if (files.Has("/sys/module/" + name)) return true;
  const std::vector<std::string> lines = absl::StrSplit(modules, '\n');
  return std::ranges::any_of(
      lines, [&name](const std::string& line) { return absl::StartsWith(line, name + " "); });
}

}  // namespace

Check CheckGpu(const HostFiles& files, std::span<const std::string> ucx_memory_types,
               bool rdma_device) {
  constexpr char kName[] = "GPU";
  const std::optional<std::string> modules = files.Text("/proc/modules");
  if (!modules.has_value() && !files.Has("/sys/module")) {
    return Unknown(kName, "/proc/modules and /sys/module");
  }
  const std::string loaded = modules.value_or("");
  if (!IsLoaded(files, loaded, "nvidia")) return Ok(kName, "no NVIDIA driver: CPUs only");
  const std::string version =
      files.Text("/sys/module/nvidia/version").value_or("of unknown version");
  const bool peermem = IsLoaded(files, loaded, "nvidia_peermem");
  const bool cuda = std::ranges::find(ucx_memory_types, "cuda") != ucx_memory_types.end();
  const std::string found =
      absl::StrCat("NVIDIA driver ", Printable(version), "; nvidia_peermem ",
                   peermem ? "loaded" : "not loaded", "; UCX ", cuda ? "with" : "without", " CUDA");
  std::vector<std::string> fixes;
  if (!cuda) fixes.emplace_back("install a UCX that was built --with-cuda");
  if (!peermem && rdma_device) fixes.emplace_back("modprobe nvidia_peermem");
  if (fixes.empty()) return Ok(kName, found);
  return Warn(kName, absl::StrCat(found, ": no GPUDirect"),
              absl::StrCat("for weights in GPU memory: ", absl::StrJoin(fixes, "; ")));
}

}  // namespace weir::doctor
