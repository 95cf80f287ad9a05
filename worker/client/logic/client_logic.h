#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/bytes.h"
#include "common/base/ids.h"
#include "common/model/layout.h"
#include "schemas/data_generated.h"

namespace weir {

/// A block that is to be read from its shard's memory, mapped or from afar.
struct MappedRead {
  ShardIndex from;
  BlockId block;
  std::size_t position = 0;  ///< of the block, among its shard's
  ViewNumber view;           ///< the shard must have this one
  Version at_least;          ///< what contains the last push of it that was acknowledged
};

/// What the client wants sent. The shipping client sends over UCX; the simulation queues.
class ClientOutput {
 public:
  virtual ~ClientOutput() = default;
  /// The caller adds the block's gradient as payload, or where it lies, and reports
  /// ClientLogic::OnPushSent when the bytes of the payload were read. The gradient itself may be
  /// read until the push is acknowledged.
  virtual void SendPush(ShardIndex to, const wire::PushBlock& header) = 0;
  virtual void SendPull(ShardIndex to, const wire::PullRequest& header) = 0;
  /// Reads a block to its place, at once, whole, and from a shard that welcomes this client, or
  /// declines: then the block is asked for by message, and its shard answers whatever is the case.
  /// Returns the version read.
  virtual std::optional<Version> TryRead(const MappedRead& read) = 0;
  /// Starts to read a block to its place from afar, under the same conditions, and returns true:
  /// ClientLogic::OnRead follows, later and once. Or declines at once.
  virtual bool StartRead(const MappedRead& /*read*/) { return false; }
  virtual void SendTicket(ShardIndex to, const wire::TicketRequest& header) = 0;
  /// One block of a pull arrived: copy `payload` (checked: exactly the block's bytes) to its place.
  virtual void DeliverBlock(BlockId block, Version version, ByteSpan payload) = 0;
  /// Close the connection to a shard that sent what no shard sends. ClientLogic knows of its end.
  virtual void CloseShard(ShardIndex shard, const absl::Status& why) = 0;
};

struct ClientLogicOptions {
  WorkerIndex worker;
  Incarnation incarnation;
  absl::Duration retry_after = absl::Seconds(2);  ///< a request unanswered so long is sent again
  /// A refusal that may pass (busy, or a shard behind in views) is followed by another attempt
  /// after this long; each further one in a row doubles it, up to `busy_backoff_most`.
  absl::Duration busy_backoff = absl::Milliseconds(2);
  absl::Duration busy_backoff_most = absl::Milliseconds(100);
  /// Weights that were pulled this long before the step's ticket was granted are pulled again.
  absl::Duration stale_after = absl::Milliseconds(20);
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

/// Where the next step's weights come from.
enum class NextWeights {
  kPullAll,   ///< a pull of everything
  kFollowed,  ///< the pull that followed the last exchange, which must have ended well
  kNone,      ///< they are not wanted
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

  // A push or ticket request must not be under way when the next one starts; a pull that is ends
  // where it stands. Each needs every shard connected. A result stays until the next start.
  void StartPush(absl::Time now, Step step, absl::Time deadline);
  void StartPull(absl::Time now, absl::Time deadline);
  /// `completed`: the step that the last push was for, once acknowledged; or nothing.
  void StartTicket(absl::Time now, std::optional<Step> completed, wire::TicketAction action,
                   absl::Time deadline);

  /// The way to the next step: its ticket and its weights, under way together. Ends with the
  /// ticket, however long that takes (a request that is not answered for `patience` is made anew),
  /// or with the pull's error; the pull may go on. It uses StartTicket and StartPull.
  void StartNextStep(absl::Time now, std::optional<Step> completed, NextWeights weights,
                     absl::Duration patience);
  /// Ends a StartNextStep that is under way with kCancelled. Its ticket may have been granted all
  /// the same: Release gives it back.
  void Interrupt();
  std::uint64_t ticket_renewals() const;  ///< requests made anew

  /// A push of step `step`'s gradients as they become ready, and behind it, block by block, the
  /// pull of the next step's weights. It may start while the step's own pull is under way.
  /// push_result is its result, and pull_result the next pull's.
  void StartExchange(absl::Time now, Step step, absl::Time deadline);
  /// The gradient of `tensor` is final, and its weights are read no more. Sends what the credits
  /// allow. False, and no effect, when that was said before, or no exchange is under way.
  bool GradientReady(absl::Time now, std::size_t tensor);
  bool all_gradients_ready() const;
  bool GradientIsReady(std::size_t tensor) const;
  /// Whether the weights of `tensor` are those of the exchange's step: delivered, and its gradient
  /// not ready yet.
  bool WeightsHere(std::size_t tensor) const;
  /// Ends an exchange of which no gradient was ready yet, and what waits for it, with kCancelled.
  void CancelExchange(absl::Time now);
  /// Pushes and pulls under way may go on until `deadline`. For a caller that was busy elsewhere:
  /// its own time does not count.
  void ExtendDeadlines(absl::Time deadline);

  // Empty while under way. Errors: kDeadlineExceeded (outcome unknown), kUnavailable (peer down),
  // kFailedPrecondition (fenced), kInvalidArgument (refused by the shard); each names shard, block
  // range, phase and time.
  std::optional<absl::Status> push_result() const;
  std::optional<absl::Status> pull_result() const;
  std::optional<absl::StatusOr<TicketResult>> ticket_result() const;
  std::optional<absl::StatusOr<TicketResult>> next_step_result() const;

  // Messages from `shard`, of the connection that OnConnected named. Headers are not trusted: what
  // comes late or again is counted and dropped, and for what no shard sends see OnMalformed.
  void OnPushAck(absl::Time now, ShardIndex shard, const wire::PushAck& ack);
  void OnPullBlock(absl::Time now, ShardIndex shard, const wire::PullBlock& header,
                   ByteSpan payload);
  void OnTicketReply(absl::Time now, ShardIndex shard, const wire::TicketReply& reply);
  /// `shard` sent `what` ("a header of 3 bytes"), which no shard does: its connection is closed,
  /// and every operation that needs it ends as after OnPeerDown.
  void OnMalformed(absl::Time now, ShardIndex shard, absl::string_view what);
  /// What StartRead started has ended, and its place is written no more: with the version that is
  /// there now, whole, or with nothing, and then the block is asked for by message.
  void OnRead(absl::Time now, BlockId block, std::optional<Version> version);
  /// The bytes of a SendPush were read, or its send failed.
  void OnPushSent(absl::Time now, BlockId block);
  void OnPeerDown(absl::Time now, ShardIndex shard, const absl::Status& why);
  /// The job is over for this client: every operation ends with `why`.
  void Abort(absl::Time now, const absl::Status& why);

  /// Repeats and expires what is due; call it at `next_tick` at the latest.
  void OnTick(absl::Time now);
  absl::Time next_tick() const;

  RequestId pull_request() const;        ///< of the pull under way, or the last
  Version version(BlockId block) const;  ///< as last pulled
  WorkerClock clock() const;             ///< completed pushes
  std::uint64_t pushes_acknowledged() const;
  std::uint64_t messages_dropped() const;  ///< late, repeated, or of another connection
  int sends_outstanding() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
