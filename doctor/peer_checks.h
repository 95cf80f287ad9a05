#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/config/cluster_spec.h"
#include "common/config/tf_config.h"
#include "doctor/check.h"
#include "doctor/host_files.h"
#include "doctor/resolve.h"
#include "doctor/route.h"

namespace weir::doctor {

/// A task of the cluster and where it serves.
struct Peer {
  Task task;
  std::string address;  ///< host:port
};

/// Those that listen somewhere, each process once: a chief that a worker's process hosts is left
/// out, and so is a worker that the chief's process hosts.
std::vector<Peer> PeersOf(const ClusterSpec& cluster);

/// What TF_CONFIG says, in a line.
Check CheckCluster(const TfConfig& config);

/// Judges what became of one peer's address. `route`: to its first address; none: there is none.
/// `link`: as LinkText.
Check CheckPeer(const Peer& peer, const ClusterSpec& cluster, const Resolution& resolution,
                const std::optional<Route>& route, const std::string& link);

/// Looks every peer's host up, within `limit` for all together, and asks for the way there.
std::vector<Check> CheckPeers(const ClusterSpec& cluster, const HostFiles& files,
                              absl::Duration limit, const Lookup& look_up);

}  // namespace weir::doctor
