#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "schemas/chief_generated.h"
#include "schemas/shard_generated.h"

namespace weir::rpc {

struct ChannelOptions {
  std::string address;  ///< host:port
  std::string peer;     ///< "chief", "ps 1": stands in errors
  std::string token;    ///< empty: none is sent
};

/// A member's side of its Session. One thread may read while another writes.
class ChiefStream {
 public:
  virtual ~ChiefStream() = default;
  virtual bool Read(wire::ChiefMessageT* message) = 0;
  virtual bool Write(const wire::MemberMessageT& message) = 0;
  /// No more writes will follow.
  virtual void WritesDone() = 0;
  /// Why the stream ended; waits until it has. Call after Read returned false.
  virtual absl::Status Finish() = 0;
  /// Any thread.
  virtual void Cancel() = 0;
};

/// Calls the chief. Any thread. Every error names the peer and its address; kUnavailable and
/// kDeadlineExceeded may be retried, kUnauthenticated, kInvalidArgument, kUnimplemented and
/// kFailedPrecondition may not.
class ChiefClient {
 public:
  static std::unique_ptr<ChiefClient> Create(const ChannelOptions& options);
  virtual ~ChiefClient() = default;
  virtual absl::StatusOr<wire::JoinReplyT> Join(const wire::JoinRequestT& request,
                                                absl::Duration timeout) = 0;
  /// Opens the stream; it has no deadline of its own: leases bound it.
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
