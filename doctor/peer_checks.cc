#include "doctor/peer_checks.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "common/config/address.h"

namespace weir::doctor {
namespace {

std::string Counted(std::size_t count, absl::string_view one, absl::string_view more) {
  return absl::StrCat(count, " ", count == 1 ? one : more);
}

// A host's own name in its hosts file is 127.0.1.1 on Debian: that process would be fine, and every
// other host would look for it on itself.
Check LoopbackName(const std::string& name, const std::string& found) {
  return Warn(name, absl::StrCat(found, ": loopback, so other hosts cannot mean this one by it"),
              "let the name lead to a network address on every host (/etc/hosts often says "
              "127.0.1.1)");
}

}  // namespace

std::vector<Peer> PeersOf(const ClusterSpec& cluster) {
  std::vector<Peer> peers;
  for (const RoleType role :
       {RoleType::kChief, RoleType::kPs, RoleType::kWorker, RoleType::kEvaluator}) {
    if (role == RoleType::kChief && cluster.worker_hosts_chief) continue;
    if (role == RoleType::kWorker && cluster.chief_hosts_worker) continue;
    for (const auto& [index, address] : cluster.addresses(role)) {
      peers.push_back({.task = {.role = role, .index = index}, .address = address});
    }
  }
  return peers;
}

Check CheckCluster(const TfConfig& config) {
  constexpr char kName[] = "cluster";
  if (!config.cluster.has_value()) {
    return Ok(kName, "none in TF_CONFIG: no peers to look for");
  }
  const ClusterSpec& cluster = *config.cluster;
  return Ok(
      kName,
      absl::StrCat(cluster.ps_count(), " ps, ", Counted(cluster.worker.size(), "worker", "workers"),
                   cluster.evaluator.empty() ? "" : ", evaluator",
                   "; this process: ", cluster.self.ToString(),
                   cluster.loopback_only ? "; a loopback cluster: this host only" : ""));
}

Check CheckPeer(const Peer& peer, const ClusterSpec& cluster, const Resolution& resolution,
                const std::optional<Route>& route, const std::string& link) {
  const std::string name = absl::StrCat("peer ", peer.task.ToString());
  if (!resolution.error.empty() || !route.has_value()) {
    return Fail(name,
                absl::StrCat(peer.address, " cannot be resolved: ",
                             resolution.error.empty() ? "no address" : resolution.error),
                "look at the name's spelling in TF_CONFIG, /etc/hosts, /etc/resolv.conf; in "
                "Kubernetes, at the headless Service");
  }
  const std::string where = absl::StrCat(peer.address, " is ", route->peer);
  if (!route->error.empty()) {
    return Fail(name, absl::StrCat(where, ", which cannot be reached: ", route->error),
                "look at the routes (ip route get ADDRESS) and whether the interface is up");
  }
  if (route->loopback && !cluster.loopback_only) return LoopbackName(name, where);
  if (route->loopback) return Ok(name, absl::StrCat(peer.address, ", loopback"));
  const std::string interface =
      route->interface.empty() ? "an unnamed interface" : route->interface;
  if (route->own) return Ok(name, absl::StrCat(where, ", this host's ", interface, link));
  return Ok(name, absl::StrCat(where, ", by ", interface, " from ", route->local, link));
}

std::vector<Check> CheckPeers(const ClusterSpec& cluster, const HostFiles& files,
                              absl::Duration limit, const Lookup& look_up) {
  const std::vector<Peer> peers = PeersOf(cluster);
  std::vector<HostPort> addresses;
  std::vector<std::string> hosts;
  for (const Peer& peer : peers) {
    // A cluster's addresses were parsed as they were read.
    addresses.push_back(ParseAddress(peer.address).value_or(HostPort{.host = peer.address}));
    hosts.push_back(addresses.back().host);
  }
  const std::map<std::string, Resolution> resolutions = ResolveAll(hosts, limit, look_up);
  std::vector<Check> checks;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const Resolution& resolution = resolutions.at(hosts[i]);
    std::optional<Route> route;
    if (!resolution.addresses.empty()) {
      route = RouteTo(resolution.addresses.front(), addresses[i].port);
    }
    checks.push_back(CheckPeer(peers[i], cluster, resolution, route,
                               route.has_value() ? LinkText(files, route->interface) : ""));
  }
  return checks;
}

}  // namespace weir::doctor
