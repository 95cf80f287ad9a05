#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "schemas/data_generated.h"
#include "worker/client/logic/client_logic.h"
#include "worker/client/logic/client_state.h"

namespace weir::client {

/// One ticket request at a time, repeated until it is answered: the shard may let it wait, and
/// gives a repetition the same answer.
class TicketOperation {
 public:
  explicit TicketOperation(ClientState& state) : state_(state) {}

  void Start(absl::Time now, std::optional<Step> completed, wire::TicketAction action,
             absl::Time deadline);
  void OnReply(absl::Time now, const wire::TicketReply& reply);
  void OnView(absl::Time now);
  void OnPeerDown(absl::Time now, ShardIndex shard, const absl::Status& why);
  void Abort(const absl::Status& why);
  void OnTick(absl::Time now);
  absl::Time next_tick() const;

  /// Whether it ended by its own deadline. (An Abort may bring the same code.)
  bool expired() const { return expired_; }
  const std::optional<absl::StatusOr<TicketResult>>& result() const { return result_; }
  RequestId request() const { return request_; }  ///< of the request under way, or the last

 private:
  void Send(absl::Time now);
  void Refused(absl::Time now, ViewNumber view);
  void Fail(absl::Time now, absl::StatusCode code, absl::string_view why);
  void End(absl::StatusOr<TicketResult> result);

  ClientState& state_;
  bool active_ = false;
  bool awaiting_view_ = false;
  bool expired_ = false;
  int refusals_ = 0;  // in a row
  RequestId request_;
  Step completed_;
  wire::TicketAction action_ = wire::TicketAction::Next;
  absl::Time started_;
  absl::Time deadline_;
  absl::Time due_;  // when to send again, unless a view is awaited
  std::optional<absl::StatusOr<TicketResult>> result_;
};

}  // namespace weir::client
