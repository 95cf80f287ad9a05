#pragma once

#include <sys/socket.h>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace weir::doctor {

/// An IPv4 or IPv6 address as the kernel takes it; the port is 0.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

/// What a host's name leads to.
struct Resolution {
  std::vector<SocketAddress> addresses;  ///< in the order that the system prefers
  std::string error;                     ///< why there are none
};

using Lookup = std::function<Resolution(const std::string& host)>;

/// Asks the system (hosts file, DNS); takes as long as that takes.
Resolution LookUpHost(const std::string& host);

/// Looks all hosts up, many at a time, and returns by `limit` with an answer for each: those that
/// `look_up` has not answered by then have the error "no answer within ...". Such calls go on in
/// threads of their own, with nobody to hear them; `look_up` must not refer to what may end before
/// the process.
std::map<std::string, Resolution> ResolveAll(std::span<const std::string> hosts,
                                             absl::Duration limit, const Lookup& look_up);

}  // namespace weir::doctor
