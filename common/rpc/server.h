#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "schemas/chief_generated.h"
#include "schemas/shard_generated.h"

namespace weir::rpc {

/// Bumped with every change of a schema's meaning; peers with another one are refused.
inline constexpr std::uint32_t kProtocolVersion = 1;

/// The chief's side of one member's Session. One thread may read while another writes.
class MemberStream {
 public:
  virtual ~MemberStream() = default;
  /// Waits for the next message; false when the stream has ended, by either side or by Cancel.
  virtual bool Read(wire::MemberMessageT* message) = 0;
  /// Waits for flow control; false when the stream has ended.
  virtual bool Write(const wire::ChiefMessageT& message) = 0;
  /// Ends the stream for both sides. Any thread.
  virtual void Cancel() = 0;
  virtual std::string peer() const = 0;
};

/// The chief's answers. Calls come on the server's threads, several at once. Messages have passed
/// the Verifier and the token check; their values have not been checked.
class ChiefHandler {
 public:
  virtual ~ChiefHandler() = default;
  virtual absl::StatusOr<wire::JoinReplyT> Join(const wire::JoinRequestT& request) = 0;
  /// Runs for as long as the stream lives; returning ends it with `Status`.
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
  bool loopback_only =
      false;          ///< listen on the loopback address itself, else on the port's wildcard
  std::string token;  ///< empty: none is asked for
};

/// The gRPC server of one process: health for all, and the services whose handlers are given.
/// Handlers are borrowed and outlive the server.
class Server {
 public:
  /// Listens. Errors: kAlreadyExists (exit 2), naming role and address, when it is in use;
  /// kInvalidArgument for an address that cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Server>> Create(const ServerOptions& options,
                                                        ChiefHandler* chief, ShardHandler* shard);
  virtual ~Server() = default;
  virtual int port() const = 0;
  /// What grpc.health.v1 answers for "" from now on; not serving at first.
  virtual void SetServing(bool serving) = 0;
  /// Ends open streams, waits for running handlers up to `grace`, then cancels them.
  virtual void Shutdown(absl::Duration grace) = 0;
};

}  // namespace weir::rpc
