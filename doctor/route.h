#pragma once

#include <cstdint>
#include <string>

#include "doctor/host_files.h"
#include "doctor/resolve.h"

namespace weir::doctor {

/// How this host would send to a peer.
struct Route {
  std::string peer;       ///< "10.0.0.7"
  std::string local;      ///< "10.0.0.5": the address that the peer sees
  std::string interface;  ///< "eth0"; empty: none has the local address
  bool loopback = false;  ///< the peer's address is loopback
  bool own = false;       ///< the peer's address is this host's
  std::string error;      ///< why nothing can be sent; empty: it can
};

/// Asks the kernel's routing table; nothing is sent.
Route RouteTo(const SocketAddress& peer, std::uint16_t port);

/// ", 25000 Mb/s, MTU 9000" of an interface, as far as the kernel says; else "".
std::string LinkText(const HostFiles& files, const std::string& interface);

}  // namespace weir::doctor
