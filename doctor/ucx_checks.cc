#include "doctor/ucx_checks.h"

#include <ucp/api/ucp_version.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/config/mistakes.h"

namespace weir::doctor {
namespace {

using Series = std::pair<int, int>;

std::optional<Series> SeriesOf(absl::string_view version) {
  const std::vector<absl::string_view> parts = absl::StrSplit(version, '.');
  Series series;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &series.first) ||
      !absl::SimpleAtoi(parts[1], &series.second)) {
    return std::nullopt;
  }
  return series;
}

// Transports with put and get in hardware; common/net decides by the same names.
bool IsRdma(const UcxResource& resource) {
  return absl::StartsWith(resource.transport, "rc_") ||
         absl::StartsWith(resource.transport, "dc_") ||
         absl::StartsWith(resource.transport, "ud_") || absl::StartsWith(resource.transport, "srd");
}

bool IsSharedMemory(const UcxResource& resource) {
  return resource.transport == "posix" || resource.transport == "sysv";
}

// "tcp (eth0, lo), posix, sysv": devices only where there is a choice of them.
std::string Listed(const UcxView& view) {
  std::map<std::string, std::vector<std::string>> devices;
  for (const UcxResource& resource : view.resources) {
    std::vector<std::string>& names = devices[resource.transport];
    if (resource.network) names.push_back(resource.device);
  }
  std::vector<std::string> parts;
  for (const auto& [transport, names] : devices) {
    parts.push_back(names.empty() ? transport
                                  : absl::StrCat(transport, " (", absl::StrJoin(names, ", "), ")"));
  }
  return parts.empty() ? "none" : absl::StrJoin(parts, ", ");
}

bool HasDevice(const UcxView& view, absl::string_view name) {
  return std::ranges::any_of(view.resources, [name](const UcxResource& resource) {
    // "mlx5_0" stands for all of its ports.
    return resource.device == name || absl::StartsWith(resource.device, absl::StrCat(name, ":"));
  });
}

// The names of UCX_NET_DEVICES that nothing here has. A list that excludes ("^eth0") has none; nor
// have newer UCX's patterns and ranges.
std::vector<std::string> MissingDevices(const UcxView& view, absl::string_view value) {
  std::vector<std::string> missing;
  if (absl::StartsWith(value, "^") || value == "all") return missing;
  for (const absl::string_view part : absl::StrSplit(value, ',', absl::SkipEmpty())) {
    const absl::string_view name = absl::StripAsciiWhitespace(part);
    if (name.find_first_of("*?[/") == absl::string_view::npos && !HasDevice(view, name)) {
      missing.push_back(Printable(name));
    }
  }
  return missing;
}

bool ReplacesAChoice(absl::string_view variable) {
  return absl::StartsWith(variable, "UCX_TLS=") || absl::StartsWith(variable, "UCX_NET_DEVICES=") ||
         absl::StartsWith(variable, "UCX_TCP_") ||
         absl::StartsWith(variable, "UCX_ZCOPY_THRESH=") ||
         absl::StartsWith(variable, "UCX_RESOLVE_REMOTE_EP_ID=") ||
         absl::StartsWith(variable, "UCX_MM_ERROR_HANDLING=") ||
         absl::StartsWith(variable, "UCX_KEEPALIVE_INTERVAL=");
}

}  // namespace

std::string UcxBuiltWith() { return absl::StrCat(UCP_API_MAJOR, ".", UCP_API_MINOR); }

Check CheckUcx(const UcxView& view, absl::string_view built_with) {
  constexpr char kName[] = "UCX";
  const std::string version = absl::StrCat(view.version, ", built with ", built_with);
  const std::optional<Series> loaded = SeriesOf(view.version);
  const std::optional<Series> headers = SeriesOf(built_with);
  if (!loaded.has_value() || !headers.has_value() || *loaded < *headers) {
    return Fail(kName, absl::StrCat(version, ": the library is older than its headers"),
                "install the UCX that weir was built with, or look at LD_LIBRARY_PATH");
  }
  if (!view.problem.empty()) {
    return Fail(kName, absl::StrCat(version, ": it does not start: ", view.problem),
                "unset the UCX_ variables; UCX_LOG_LEVEL=info shows what UCX tries");
  }
  return Ok(kName,
            absl::StrCat(version, "; memory types: ", absl::StrJoin(view.memory_types, ", ")));
}

Check CheckUcxTransports(const UcxView& view, bool active_rdma_port) {
  constexpr char kName[] = "UCX transports";
  const std::string found = Listed(view);
  const bool tcp = std::ranges::any_of(
      view.resources, [](const UcxResource& resource) { return resource.transport == "tcp"; });
  if (!tcp) {
    return Fail(kName, absl::StrCat(found, ": no tcp, so no messages between hosts"),
                "bring a network interface up (lo is enough for one host), with an address");
  }
  if (!std::ranges::any_of(view.resources, IsSharedMemory)) {
    return Warn(kName, absl::StrCat(found, ": no shared memory"),
                "look at the lines on /dev/shm and SysV shared memory");
  }
  if (active_rdma_port && std::ranges::none_of(view.resources, IsRdma)) {
    return Warn(kName, absl::StrCat(found, ": no RDMA, though a port is active"),
                "install UCX's InfiniBand module and ibverbs-providers; raise ulimit -l");
  }
  return Ok(kName, found);
}

Check CheckUcxVariables(const UcxView& view, std::span<const std::string> variables) {
  constexpr char kName[] = "UCX variables";
  std::vector<std::string> set;
  std::vector<std::string> replacing;
  for (const std::string& variable : variables) {
    if (!absl::StartsWith(variable, "UCX_")) continue;
    set.push_back(Printable(variable, 200));
    if (ReplacesAChoice(variable)) replacing.push_back(variable.substr(0, variable.find('=')));
    absl::string_view devices = variable;
    if (!absl::ConsumePrefix(&devices, "UCX_NET_DEVICES=")) continue;
    if (const auto missing = MissingDevices(view, devices); !missing.empty()) {
      return Fail(kName, absl::StrCat(set.back(), ": no device ", absl::StrJoin(missing, ", ")),
                  absl::StrCat("unset it, or name some of: ", Listed(view)));
    }
  }
  if (set.empty()) return Ok(kName, "none set");
  std::ranges::sort(set);
  const std::string found = absl::StrJoin(set, " ");
  if (replacing.empty()) return Ok(kName, found);
  std::ranges::sort(replacing);
  return Warn(kName, found,
              absl::StrCat("used instead of what weir would choose; unless that is meant: unset ",
                           absl::StrJoin(replacing, " ")));
}

}  // namespace weir::doctor
