#include "common/net/verbs/usable_port.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "weir/exit_code.h"

namespace weir::net {
namespace {

absl::Status Missing(absl::string_view what) {
  return WithExitCode(absl::FailedPreconditionError(what), ExitCode::kBadUsage);
}

// As UCX reads its device lists: "mlx5_0" is any port of it, "all" any port of any.
class Allowed {
 public:
  explicit Allowed(absl::string_view net_devices)
      : names_(absl::StrSplit(net_devices, ',', absl::SkipEmpty())) {}

  bool Any() const { return names_.empty() || Has("all"); }
  bool Device(const RdmaDevice& device) const {
    return Any() || std::ranges::any_of(names_, [&](const std::string& name) {
             return name.substr(0, name.find(':')) == device.name;
           });
  }
  bool Port(const RdmaDevice& device, const RdmaPort& port) const {
    return Any() || Has(device.name) || Has(absl::StrCat(device.name, ":", port.number));
  }

 private:
  bool Has(absl::string_view wanted) const {
    return std::ranges::any_of(names_, [&](const std::string& name) { return name == wanted; });
  }

  std::vector<std::string> names_;
};

}  // namespace

absl::StatusOr<std::string> UsablePort(const RdmaView& view, absl::string_view net_devices) {
  if (!view.in_this_build) {
    return Missing(
        "this build has no libibverbs to look at RDMA devices with: install libibverbs-dev and "
        "build with -Dverbs=enabled");
  }
  if (view.devices.empty()) {
    return Missing(
        "this host has no RDMA device (or no driver for it: ibverbs-providers; a container needs "
        "--device=/dev/infiniband); `weir doctor` shows more");
  }
  const Allowed allowed(net_devices);
  std::vector<std::string> seen;
  bool any = false;
  for (const RdmaDevice& device : view.devices) {
    if (!allowed.Device(device)) {
      seen.push_back(device.name);
      continue;
    }
    if (!device.problem.empty()) seen.push_back(absl::StrCat(device.name, " ", device.problem));
    any = true;
    for (const RdmaPort& port : device.ports) {
      const std::string name = absl::StrCat(device.name, ":", port.number);
      if (!allowed.Port(device, port)) continue;
      if (port.active) return name;
      seen.push_back(absl::StrCat(name, " is ", port.state));
    }
  }
  if (!any) {
    return Missing(absl::StrCat("--net-devices ", net_devices,
                                " names none of this host's RDMA devices (",
                                absl::StrJoin(seen, ", "), ")"));
  }
  return Missing(absl::StrCat("no port of an RDMA device is active: ", absl::StrJoin(seen, ", "),
                              "; bring the link up (`weir doctor` shows how)"));
}

}  // namespace weir::net
