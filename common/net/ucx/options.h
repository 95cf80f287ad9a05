#pragma once

#include <string>

#include "absl/time/time.h"

namespace weir::net {

enum class UcxFabric {
  kTcp,        ///< messages over tcp; memory is private
  kTcpMapped,  ///< messages over tcp; memory lies in SysV segments, where it can, to be mapped
  kShm,        ///< messages over shared memory; memory as with kTcpMapped
  kRdma,       ///< messages over an RDMA device, also to peers on this host; memory is private
};

inline bool IsTcp(UcxFabric fabric) {
  return fabric == UcxFabric::kTcp || fabric == UcxFabric::kTcpMapped;
}
/// Whether memory is shared, to be mapped.
inline bool SharesMemory(UcxFabric fabric) {
  return fabric == UcxFabric::kTcpMapped || fabric == UcxFabric::kShm;
}

/// How to set up one UCX transport. Where the user has set the UCX_ variable of a setting in the
/// environment, that wins.
struct UcxOptions {
  UcxFabric fabric = UcxFabric::kTcp;
  /// Use the loopback device only, whatever `net_devices` says (a cluster on one host). RDMA
  /// has no such device, and takes what `net_devices` says.
  bool loopback_only = false;
  /// UCX_NET_DEVICES: "eth0,eth1", "mlx5_0:1"; empty lets UCX choose.
  std::string net_devices;
  /// The ports that tcp may listen on, "A-B"; empty: any.
  std::string port_range;
  /// How often an idle peer is checked; bounds how soon shm notices a dead process.
  absl::Duration keepalive = absl::Seconds(1);
  /// How long an owner without work polls, at most, before Wait lets it sleep; zero: not at all.
  /// It polls less, or not, where that does not pay (SpinPolicy).
  absl::Duration spin = absl::Microseconds(100);
};

}  // namespace weir::net
