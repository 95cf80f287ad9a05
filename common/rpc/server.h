#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/tls_identity.h"
#include "schemas/chief_generated.h"
#include "schemas/shard_generated.h"

namespace weir::rpc {

/// The chief's side of one member's Session. One thread may read while another writes.
class MemberStream {
 public:
  virtual ~MemberStream() = default;
  /// Waits for the next message, which is set then and has passed the Verifier; its body is NONE or
  /// whole. False when the stream has ended, by either side, by Cancel, or by a malformed message
  /// (the member is then answered with kInvalidArgument, whatever the handler returns).
  virtual bool Read(wire::MemberMessageT* message) = 0;
  /// Waits for flow control; false when the stream has ended.
  virtual bool Write(const wire::ChiefMessageT& message) = 0;
  /// Ends the stream for both sides. Any thread.
  virtual void Cancel() = 0;
  virtual std::string peer() const = 0;
};

/// The chief's answers. Calls come on the server's threads, several at once. Messages have passed
/// the Verifier and the token check; their values (enums too) have not been checked. An error's
/// code and message reach the caller, its exit code does not.
class ChiefHandler {
 public:
  virtual ~ChiefHandler() = default;
  virtual absl::StatusOr<wire::JoinReplyT> Join(const wire::JoinRequestT& request) = 0;
  /// Runs for as long as the stream lives, on a thread of its own; returning ends the stream with
  /// the status. `stream` must not be used after it. Must return soon once Read or Write fail.
  virtual absl::Status Session(MemberStream& stream) = 0;
  virtual absl::StatusOr<wire::StatusReplyT> GetStatus() = 0;
};

/// A ps's answers; the same rules.
class ShardHandler {
 public:
  virtual ~ShardHandler() = default;
  virtual absl::StatusOr<wire::ConnectReplyT> Connect(const wire::ConnectRequestT& request) = 0;
};

struct ServerOptions {
  std::string who;      ///< "ps 0": stands in errors
  std::string address;  ///< host:port as listed; port 0 takes a free one
  /// Listen on the loopback address itself, else on the port's wildcard.
  bool loopback_only = false;
  std::string token;  ///< empty: none is asked for. Health checks never need it.
  /// Null: plaintext. Else a client without an accepted certificate cannot even ask for health.
  std::shared_ptr<TlsIdentity> tls = nullptr;
};

/// The gRPC server of one process: health for all, and the services whose handlers are given.
/// Handlers are borrowed and outlive the server.
class Server {
 public:
  /// Listens. Errors: kAlreadyExists (exit 2), naming role and address, when it is in use;
  /// kInvalidArgument (exit 2) for an address that cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Server>> Create(const ServerOptions& options,
                                                        ChiefHandler* chief, ShardHandler* shard);
  virtual ~Server() = default;
  virtual int port() const = 0;
  /// What grpc.health.v1 answers for "" from now on; not serving at first.
  virtual void SetServing(bool serving) = 0;
  /// Takes no more calls, cancels the open streams, waits for running unary calls up to `grace`,
  /// then cancels them. Waits for the handlers themselves, which cannot be interrupted, but for no
  /// peer. The destructor does it with no grace.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace weir::rpc
