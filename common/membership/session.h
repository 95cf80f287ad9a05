#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/rpc/tls_identity.h"
#include "schemas/chief_generated.h"

namespace weir {

/// What the chief tells a member; called on the session's own thread, one call at a time. Do not
/// block for long: the lease is renewed on another thread, but views and OnLost wait.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual void OnView(const wire::ViewT& view) = 0;
  /// TakeCheckpoint, Evaluate, CheckpointSaved, StopTraining, SendStats.
  virtual void OnCommand(const wire::ChiefMessageT& message) = 0;
  /// The job is over for this member: leave with `exit_code`. The last call.
  virtual void OnEnd(int exit_code, const std::string& reason) = 0;
  /// The chief is gone: its stream ended without an End, or nothing came from it for a lease.
  /// kUnavailable with exit code 4. The last call.
  virtual void OnLost(const absl::Status& why) = 0;
};

struct SessionOptions {
  std::string chief_address;
  std::string token;
  std::shared_ptr<rpc::TlsIdentity> tls = nullptr;  ///< null: plaintext
  wire::JoinRequestT join;
  absl::Duration start_deadline = absl::Seconds(300);
};

/// One member's part in the job: joins the chief, holds a lease, renews it every second, and
/// carries messages both ways. Threads: Send, Report* and Leave from any thread.
class Session {
 public:
  /// Joins, asking again with backoff while the chief does not resolve or answer yet (named in the
  /// log every few seconds), up to the start deadline. Calls nothing on a listener yet.
  /// Errors, with their exit codes: refused (kFailedPrecondition or the call's own code; 2, with
  /// the chief's reason and token errors too); kCancelled with exit code 0 when the job has already
  /// ended, kUnavailable with the job's where it has failed; kDeadlineExceeded (4).
  /// The place is kept by asking again, on a thread of its own, until Start: getting ready may take
  /// longer than a lease.
  /// `interrupted`, where given, is polled between attempts: true ends the wait with kCancelled and
  /// no exit code, which is the caller's to choose.
  static absl::StatusOr<std::unique_ptr<Session>> Join(const SessionOptions& options,
                                                       bool (*interrupted)() = nullptr);
  virtual ~Session() = default;

  virtual const wire::JoinReplyT& welcome() const = 0;

  /// Opens the stream and starts the threads. `listener` outlives the session. Call once. A stream
  /// that does not come about is told by OnLost; so is that of a chief that was started again since
  /// it said welcome, and has not decided as before whether weights travel by RDMA.
  virtual absl::Status Start(SessionListener* listener) = 0;

  /// Queues a message; false when the session has ended or its bounded outbox (1024) is full.
  virtual bool Send(wire::MemberBodyUnion body) = 0;

  /// The step and view that the next heartbeats carry.
  virtual void SetProgress(std::uint64_t step, std::uint32_t view) = 0;

  /// Sends Goodbye after all that was queued, waits for the chief to end the stream (at most
  /// `timeout`), and stops the threads: no callback after it. Also after OnEnd and OnLost, but not
  /// from within a callback: it waits for a running one. Further calls do nothing. A session that
  /// is destroyed without it drops its stream, which is a death to the chief.
  virtual void Leave(int exit_code, const std::string& reason, absl::Duration timeout) = 0;
};

}  // namespace weir
