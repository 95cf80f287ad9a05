#pragma once

#include <string>
#include <vector>

namespace weir::doctor {

/// One transport on one device, as UCX found them.
struct UcxResource {
  std::string transport;  ///< "tcp", "posix", "rc_mlx5"
  std::string device;     ///< "eth0", "memory", "mlx5_0:1"
  bool network = false;   ///< the device reaches other hosts
};

/// What the UCX library that is loaded can do here.
struct UcxView {
  std::string version;  ///< "1.13.1"
  std::vector<UcxResource> resources;
  std::vector<std::string> memory_types;  ///< "host", "cuda"
  std::string problem;  ///< why a context could not be made, and memory_types is empty
};

/// Asks UCX, without regard to UCX_TLS and UCX_NET_DEVICES for the resources, with regard to all
/// UCX_ variables for the rest. Components load drivers, which may hang or crash: call it apart
/// (apart.h).
UcxView LookAtUcx();

}  // namespace weir::doctor
