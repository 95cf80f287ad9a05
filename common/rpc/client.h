#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/tls_identity.h"
#include "schemas/chief_generated.h"
#include "schemas/shard_generated.h"

namespace weir::rpc {

struct ChannelOptions {
  std::string address;                         ///< host:port
  std::string peer;                            ///< "chief", "ps 1": stands in errors
  std::string token;                           ///< empty: none is sent
  std::shared_ptr<TlsIdentity> tls = nullptr;  ///< null: plaintext
};

/// A member's side of its Session. One thread may read while another writes.
class ChiefStream {
 public:
  virtual ~ChiefStream() = default;
  /// Waits for the next message; its body is NONE or whole. False when the stream has ended.
  virtual bool Read(wire::ChiefMessageT* message) = 0;
  /// Waits for flow control, so for ever on a frozen chief: Cancel ends the wait. False when the
  /// stream has ended; Finish says why.
  virtual bool Write(const wire::MemberMessageT& message) = 0;
  /// No more writes will follow.
  virtual void WritesDone() = 0;
  /// Why the stream ended; waits until it has. Call once, after Read returned false.
  virtual absl::Status Finish() = 0;
  /// Ends the stream at once, without waiting for the chief. Any thread, any number of times.
  virtual void Cancel() = 0;
};

/// Calls the chief. Any thread. Connects with the first call, and again, within about a second,
/// whenever the connection is lost. Every error names the peer and its address; kUnavailable and
/// kDeadlineExceeded may be retried, kUnauthenticated, kInvalidArgument, kUnimplemented and
/// kFailedPrecondition may not. The first call to a peer that
/// cannot be reached fails at once, later ones within half a second.
/// Over TLS, a peer whose certificate is not accepted, one that does not accept this process's, and
/// one that speaks no TLS (or TLS where this process does not) is kUnauthenticated, with the
/// reason. Calls and sessions that begin after the certificate was renewed use the new one.
class ChiefClient {
 public:
  static std::unique_ptr<ChiefClient> Create(const ChannelOptions& options);
  virtual ~ChiefClient() = default;
  virtual absl::StatusOr<wire::JoinReplyT> Join(const wire::JoinRequestT& request,
                                                absl::Duration timeout) = 0;
  /// Opens the stream; it has no deadline of its own: leases bound it. Waits for the connection at
  /// most a few seconds; a failure shows in the stream's first Read or Write. The stream may
  /// outlive the client.
  virtual std::unique_ptr<ChiefStream> OpenSession() = 0;
  virtual absl::StatusOr<wire::StatusReplyT> GetStatus(absl::Duration timeout) = 0;
};

/// Calls a ps. The same rules.
class ShardClient {
 public:
  static std::unique_ptr<ShardClient> Create(const ChannelOptions& options);
  virtual ~ShardClient() = default;
  virtual absl::StatusOr<wire::ConnectReplyT> Connect(const wire::ConnectRequestT& request,
                                                      absl::Duration timeout) = 0;
};

}  // namespace weir::rpc
