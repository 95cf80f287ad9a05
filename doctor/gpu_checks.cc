#include "doctor/gpu_checks.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
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

// "6.1.0-18-amd64", "1.14.0": the first two numbers; none where they are not there.
std::optional<std::pair<int, int>> SeriesOf(absl::string_view version) {
  int numbers[2] = {};
  for (int& number : numbers) {
    const std::size_t digits = std::min(version.find_first_not_of("0123456789"), version.size());
    if (!absl::SimpleAtoi(version.substr(0, digits), &number)) return std::nullopt;
    version.remove_prefix(std::min(digits + 1, version.size()));
  }
  return std::pair(numbers[0], numbers[1]);
}

// What dmabuf, by which a device reaches a GPU's memory without nvidia_peermem, needs and is not
// here (the FAQ of UCX, "What is needed for dmabuf support?"). What cannot be read counts as
// missing.
std::vector<std::string> MissingForDmabuf(const HostFiles& files, absl::string_view ucx_version) {
  std::vector<std::string> missing;
  const std::string kernel = files.Text("/proc/sys/kernel/osrelease").value_or("unknown");
  if (SeriesOf(kernel).value_or(std::pair(0, 0)) < std::pair(5, 12)) {
    missing.push_back(absl::StrCat("Linux 5.12 or newer (this is ", Printable(kernel), ")"));
  }
  const std::string driver = files.Text("/proc/driver/nvidia/version").value_or("");
  if (!absl::StrContains(driver, "Open Kernel Module")) {
    missing.emplace_back("NVIDIA's open kernel modules");
  }
  if (SeriesOf(ucx_version).value_or(std::pair(0, 0)) < std::pair(1, 14)) {
    missing.push_back(absl::StrCat("UCX 1.14 or newer (this is ", Printable(ucx_version), ")"));
  }
  return missing;
}

}  // namespace

Check CheckGpu(const HostFiles& files, const UcxView& ucx, bool rdma_device) {
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
  const bool cuda = std::ranges::find(ucx.memory_types, "cuda") != ucx.memory_types.end();
  const std::vector<std::string> missing = MissingForDmabuf(files, ucx.version);
  std::string found =
      absl::StrCat("NVIDIA driver ", Printable(version), "; nvidia_peermem ",
                   peermem ? "loaded" : "not loaded", "; UCX ", cuda ? "with" : "without", " CUDA");
  std::vector<std::string> fixes;
  if (!cuda) fixes.emplace_back("install a UCX that was built --with-cuda");
  if (!peermem && rdma_device) {
    fixes.push_back(
        missing.empty()
            ? "see that ucx_info -d says dmabuf of the RDMA device, or modprobe nvidia_peermem"
            : absl::StrCat("modprobe nvidia_peermem; or, for dmabuf instead, ",
                           absl::StrJoin(missing, ", ")));
  }
  if (fixes.empty()) return Ok(kName, found);
  const bool maybe = cuda && missing.empty();
  absl::StrAppend(&found, maybe ? ": GPUDirect only by dmabuf, if UCX and the RDMA device have it"
                                : ": no GPUDirect");
  return Warn(kName, found,
              absl::StrCat("for weights in GPU memory: ", absl::StrJoin(fixes, "; ")));
}

}  // namespace weir::doctor
