#include "doctor/rdma_checks.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace weir::doctor {
namespace {

constexpr char kClass[] = "/sys/class/infiniband";
constexpr char kNone[] = "no RDMA device: between hosts weights travel as messages";
constexpr std::size_t kMostShownGids = 4;

std::string Shown(const RdmaGid& gid) {
  return absl::StrCat(gid.index, " ", gid.type, " ", absl::StripPrefix(gid.address, "::ffff:"),
                      gid.interface.empty() ? "" : " on ", gid.interface);
}

// The ones that people choose among first: an IPv4 address, RoCE v2.
std::string ShownGids(const RdmaPort& port) {
  if (port.gids.empty()) return "no GID";
  std::vector<RdmaGid> gids = port.gids;
  std::ranges::stable_sort(gids, {}, [](const RdmaGid& gid) {
    return (gid.type == "RoCE v2" ? 0 : 2) + (absl::StartsWith(gid.address, "::ffff:") ? 0 : 1);
  });
  std::vector<std::string> shown;
  for (const RdmaGid& gid : gids) {
    if (shown.size() < kMostShownGids) shown.push_back(Shown(gid));
  }
  if (gids.size() > shown.size()) {
    shown.push_back(absl::StrCat("and ", gids.size() - shown.size(), " more"));
  }
  return absl::StrCat("GID ", absl::StrJoin(shown, ", "));
}

std::string Described(const RdmaPort& port) {
  const std::string rate = port.gigabits_per_second == 0
                               ? "rate unknown"
                               : absl::StrFormat("%g Gb/s", port.gigabits_per_second);
  return absl::StrCat(port.state, ", ", port.ethernet ? "Ethernet" : "InfiniBand", ", ", rate, ", ",
                      ShownGids(port));
}

Check CheckPort(const RdmaDevice& device, const RdmaPort& port) {
  const std::string name = absl::StrCat("RDMA ", device.name, ":", port.number);
  const std::string found = Described(port);
  const bool another = std::ranges::any_of(device.ports, &RdmaPort::active);
  if (!port.active && another) return Ok(name, absl::StrCat(found, " (another port is active)"));
  if (!port.active) {
    return Warn(name, found,
                port.ethernet
                    ? "ip link set dev INTERFACE up; look at cable, module and switch port"
                    : "look at the cable and whether a subnet manager runs (ibstat, sminfo)");
  }
  const bool routable =
      std::ranges::any_of(port.gids, [](const RdmaGid& gid) { return gid.type == "RoCE v2"; });
  if (port.ethernet && !routable) {
    return Warn(name, absl::StrCat(found, ": no RoCE v2"),
                "give the port's network interface an address, and let the driver do RoCE v2");
  }
  return Ok(name, found);
}

std::vector<Check> CheckDevice(const RdmaDevice& device) {
  const std::string name = absl::StrCat("RDMA ", device.name);
  if (!device.problem.empty()) {
    return {Warn(name, device.problem,
                 "may this user open /dev/infiniband/uverbs*? Its mode, the container's devices")};
  }
  if (device.ports.empty()) {
    return {Warn(name, "shows no port", "look at the driver's messages (dmesg)")};
  }
  std::vector<Check> checks;
  for (const RdmaPort& port : device.ports) checks.push_back(CheckPort(device, port));
  return checks;
}

}  // namespace

std::vector<std::string> KernelRdmaDevices(const HostFiles& files) { return files.Names(kClass); }

bool KernelHasActivePort(const HostFiles& files) {
  for (const std::string& device : files.Names(kClass)) {
    const std::string ports = absl::StrCat(kClass, "/", device, "/ports");
    for (const std::string& port : files.Names(ports)) {
      // "4: ACTIVE"
      const auto state = files.Text(absl::StrCat(ports, "/", port, "/state"));
      if (state.has_value() && absl::StartsWith(*state, "4:")) return true;
    }
  }
  return false;
}

std::vector<Check> CheckRdma(const RdmaView& view, std::span<const std::string> kernel_devices) {
  constexpr char kName[] = "RDMA";
  const std::string listed = absl::StrJoin(kernel_devices, ", ");
  if (!view.in_this_build) {
    if (kernel_devices.empty()) return {Ok(kName, kNone)};
    return {Warn(kName, absl::StrCat(listed, "; this build cannot look at them"),
                 "install libibverbs-dev and build with -Dverbs=enabled")};
  }
  if (view.devices.empty()) {
    if (kernel_devices.empty()) return {Ok(kName, kNone)};
    return {Warn(kName, absl::StrCat("the kernel has ", listed, ", libibverbs sees none of them"),
                 "install ibverbs-providers; a container needs --device=/dev/infiniband or the "
                 "RDMA device plugin")};
  }
  std::vector<Check> checks;
  for (const RdmaDevice& device : view.devices) {
    for (Check& check : CheckDevice(device)) checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace weir::doctor
