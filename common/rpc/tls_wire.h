#pragma once

#include <string>

#include "absl/time/time.h"
#include "common/base/unique_fd.h"
#include "common/rpc/openssl_handles.h"

namespace weir::rpc {

/// One TLS client connection over TCP with a deadline for all of it. One thread.
/// (OpenSSL on the socket itself would raise SIGPIPE and know no deadline.)
class TlsWire {
 public:
  /// Takes the SSL object, which is set up but for its BIOs.
  TlsWire(SslPtr ssl, absl::Time deadline);

  enum class End {
    kDone,
    kFailed,  ///< OpenSSL's reason is in its error queue
    kClosed,  ///< by the peer, or it cannot be reached
    kTimedOut,
  };
  /// To the first of the host's addresses that answers.
  End Connect(const std::string& host, const std::string& port);
  End Handshake();
  /// Waits for anything that the peer sends after the handshake.
  End AwaitData();
  SSL* ssl() const { return ssl_.get(); }

 private:
  template <typename Step>
  End Run(Step step);
  End Exchange(bool wants_to_read);
  bool Wait(short events) const;

  const SslPtr ssl_;
  const absl::Time deadline_;
  UniqueFd socket_;
};

}  // namespace weir::rpc
