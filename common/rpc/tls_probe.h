#pragma once

#include <string>

#include "absl/time/time.h"
#include "common/rpc/tls_identity.h"

namespace weir::rpc {

/// What TLS has to do with a failed call.
struct TlsFault {
  std::string reason;      ///< empty: nothing wrong was found with it
  bool permanent = false;  ///< asking again leads to the same
};

/// Makes a connection of its own to `address` (host:port) and sees how the handshake goes, for gRPC
/// says no more than "certificate verify failed" of a peer's certificate, and "Socket closed" of
/// everything else. `own`: what this process uses there; null: plaintext. Takes about `timeout` at
/// most, after the name was resolved.
TlsFault FindTlsFault(const std::string& address, const TlsMaterial* own, absl::Duration timeout);

}  // namespace weir::rpc
