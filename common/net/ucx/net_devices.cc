#include "common/net/ucx/net_devices.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "weir/exit_code.h"

namespace weir::net {
namespace {

// Empty where the directory is missing: a host without RDMA has no class of it.
std::vector<std::string> NamesIn(const char* directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

bool IsAmong(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

absl::Status CheckNetDevices(const std::string& list) {
  if (list == "all" || absl::StartsWith(list, "^")) return absl::OkStatus();
  std::vector<std::string> there = NamesIn("/sys/class/net");
  const std::vector<std::string> rdma = NamesIn("/sys/class/infiniband");
  for (const std::string& device : std::vector<std::string>(absl::StrSplit(list, ','))) {
    const std::string without_port = device.substr(0, device.rfind(':'));
    if (IsAmong(there, device) || IsAmong(rdma, without_port)) continue;
    there.insert(there.end(), rdma.begin(), rdma.end());
    return WithExitCode(
        absl::InvalidArgumentError(absl::StrCat("there is no network device \"", device,
                                                "\" on this host (--net-devices ", list,
                                                "): it has ", absl::StrJoin(there, ", "))),
        ExitCode::kBadUsage);
  }
  return absl::OkStatus();
}

}  // namespace weir::net
