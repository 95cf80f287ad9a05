#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "chief/logic/member_id.h"
#include "common/base/bounded_queue.h"
#include "common/base/mutex.h"
#include "common/rpc/server.h"
#include "schemas/chief_generated.h"

namespace weir::chief {

/// What the chief thread holds of one member's stream: a bounded outbox that a thread of its own
/// writes from, so that a member which does not read never holds up the others.
/// Threading: any thread, except WriteQueued, which one thread runs.
class MemberSession {
 public:
  /// Room for far more than a member is sent within a lease.
  static constexpr std::size_t kOutboxCapacity = 256;

  /// `stream` outlives this object or is detached from it.
  MemberSession(SessionId id, rpc::MemberStream& stream)
      : id_(id), outbox_(kOutboxCapacity), stream_(&stream) {}

  SessionId id() const { return id_; }

  /// False when the outbox is full. What comes after the end of the stream is dropped.
  bool Enqueue(wire::ChiefMessageT message) {
    return outbox_.TryPush(std::move(message)) || outbox_.closed();
  }

  /// Ends the stream at once; the handler returns kAborted with `why`.
  void Abort(const std::string& why);

  /// Nothing more will be enqueued; what is queued is still written.
  void CloseOutbox() { outbox_.Close(); }
  /// Writes until the outbox is closed and empty, or the stream ends.
  void WriteQueued(rpc::MemberStream& stream);
  /// The stream is about to go: no call to it is made after this returns.
  void Detach();
  absl::Status outcome() const;

 private:
  const SessionId id_;
  BoundedQueue<wire::ChiefMessageT> outbox_;
  mutable Mutex mutex_;
  rpc::MemberStream* stream_ ABSL_GUARDED_BY(mutex_);
  absl::Status outcome_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir::chief
