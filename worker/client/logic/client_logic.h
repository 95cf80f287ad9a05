#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/bytes.h"
#include "common/base/ids.h"
#include "common/model/layout.h"
#include "schemas/data_generated.h"

namespace weir {

/// What the client wants sent. The shipping client sends over UCX; the simulation queues.
class ClientOutput {
 public:
  virtual ~ClientOutput() = default;
  /// The caller adds the block's gradient as payload, and reports ClientLogic::OnPushSent when the
  /// bytes were read.
  virtual void SendPush(ShardIndex to, const wire::PushBlock& header) = 0;
  virtual void SendPull(ShardIndex to, const wire::PullRequest& header) = 0;
  virtual void SendTicket(ShardIndex to, const wire::TicketRequest& header) = 0;
  /// One block of a pull arrived: copy `payload` (checked: exactly the block's bytes) to its place.
  virtual void DeliverBlock(BlockId block, Version version, ByteSpan payload) = 0;
};

struct ClientLogicOptions {
  WorkerIndex worker;
  Incarnation incarnation;
  absl::Duration retry_after = absl::Seconds(2);  ///< a request unanswered so long is sent again
  absl::Duration busy_backoff = absl::Milliseconds(2);
  /// By shard, for errors: tasks may have other numbers than shards. Empty: "ps 0", "ps 1", ...
  std::vector<std::string> shard_names;
};

/// What ConnectReply said of one shard.
struct ShardLink {
  std::uint64_t session = 0;
  int push_credits = 1;
  int pull_credits = 1;
};

/// A ticket request's end.
struct TicketResult {
  wire::TicketOutcome outcome;
  Step step;  ///< Granted: the step to take; else the global step
};

/// The logic of one worker's pushes, pulls and tickets: at most one of each at a time. Sends within
/// its credits, repeats what is not answered, survives repetition, loss and reordering, and ends
/// every operation by its deadline. No I/O, no clock, no threads.
///
/// A push is done when every block is acknowledged *and* no send of it is outstanding: only then
/// may the gradients be overwritten. After a failed push the caller must close the connections and
/// see every OnPushSent before it touches them.
class ClientLogic {
 public:
  ClientLogic(const Layout& layout, const ClientLogicOptions& options, ClientOutput& output);
  ~ClientLogic();

  void OnConnected(ShardIndex shard, const ShardLink& link);
  void OnView(absl::Time now, ViewNumber view);

  // An operation of the same kind must not be under way. It needs every shard connected. A result
  // stays until the next start.
  void StartPush(absl::Time now, Step step, absl::Time deadline);
  void StartPull(absl::Time now, absl::Time deadline);
  /// `completed`: the step that the last push was for, once acknowledged; or nothing.
  void StartTicket(absl::Time now, std::optional<Step> completed, wire::TicketAction action,
                   absl::Time deadline);

  // Empty while under way. Errors: kDeadlineExceeded (outcome unknown), kUnavailable (peer down),
  // kFailedPrecondition (fenced), kInvalidArgument (refused by the shard); each names shard, block
  // range, phase and time.
  std::optional<absl::Status> push_result() const;
  std::optional<absl::Status> pull_result() const;
  std::optional<absl::StatusOr<TicketResult>> ticket_result() const;

  // Messages from `shard`, of the connection that OnConnected named. Headers are not trusted:
  // what does not fit is counted and dropped.
  void OnPushAck(absl::Time now, ShardIndex shard, const wire::PushAck& ack);
  void OnPullBlock(absl::Time now, ShardIndex shard, const wire::PullBlock& header,
                   ByteSpan payload);
  void OnTicketReply(absl::Time now, ShardIndex shard, const wire::TicketReply& reply);
  /// The bytes of a SendPush were read, or its send failed.
  void OnPushSent(absl::Time now, BlockId block);
  void OnPeerDown(absl::Time now, ShardIndex shard, const absl::Status& why);
  /// The job is over for this client: every operation ends with `why`.
  void Abort(absl::Time now, const absl::Status& why);

  /// Repeats and expires what is due; call it at `next_tick` at the latest.
  void OnTick(absl::Time now);
  absl::Time next_tick() const;

  Version version(BlockId block) const;  ///< as last pulled
  WorkerClock clock() const;             ///< completed pushes
  std::uint64_t pushes_acknowledged() const;
  std::uint64_t messages_dropped() const;  ///< late, repeated or malformed
  int sends_outstanding() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
