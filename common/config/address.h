#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir {

/// Where a role serves.
struct HostPort {
  std::string host;  ///< a name, an IPv4 address, or an IPv6 address without its brackets
  std::uint16_t port = 0;

  bool is_ipv6() const { return host.find(':') != std::string::npos; }
  /// "host:80", "[::1]:80": what ParseAddress reads.
  std::string ToString() const;
};

/// Reads `host:port`, split at the last colon, IPv6 in brackets, port 1-65535, no scheme, no path.
/// Nothing is resolved. Errors: kInvalidArgument with what was found and what to write instead.
absl::StatusOr<HostPort> ParseAddress(absl::string_view text);

/// Whether the host is literal loopback: `localhost`, 127/8, ::1 (also as ::ffff:127.0.0.1).
bool IsLoopback(const HostPort& address);

/// Equal for two spellings of one address: names in lower case and without a last dot, IPv6 in its
/// shortest form, `localhost` as 127.0.0.1. For comparing only.
std::string CanonicalAddress(const HostPort& address);

}  // namespace weir
