#include "common/membership/join.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

constexpr absl::Duration kAttempt = absl::Seconds(3);
// gRPC's own backoff, 100 ms to 1 s, spaces the connection attempts; this spaces the questions.
constexpr absl::Duration kPause = absl::Milliseconds(100);
constexpr absl::Duration kLogEvery = absl::Seconds(5);

bool IsPermanent(absl::StatusCode code) {
  return code == absl::StatusCode::kUnauthenticated || code == absl::StatusCode::kInvalidArgument ||
         code == absl::StatusCode::kUnimplemented || code == absl::StatusCode::kFailedPrecondition;
}

absl::Status Refused(const std::string& address, absl::string_view reason) {
  return WithExitCode(
      absl::FailedPreconditionError(absl::StrCat("the chief at ", address, " refuses: ", reason)),
      ExitCode::kBadUsage);
}

absl::Status Ended(const wire::JoinReplyT& reply) {
  const std::string text =
      absl::StrCat("the job has ended", reply.reason.empty() ? "" : ": ", reply.reason);
  if (reply.exit_code == 0) return WithExitCode(absl::CancelledError(text), ExitCode::kDone);
  const bool known =
      reply.exit_code > 0 && reply.exit_code <= static_cast<int>(ExitCode::kPeerLost);
  return WithExitCode(absl::UnavailableError(text),
                      known ? static_cast<ExitCode>(reply.exit_code) : ExitCode::kFailed);
}

// What an accepted member still waits for: a ps or worker opens its data path as all others do.
bool MayBegin(const wire::JoinReplyT& reply, wire::Role role) {
  const bool moves_weights = role == wire::Role::Ps || role == wire::Role::Worker;
  return !moves_weights || reply.rdma != wire::RdmaUse::Undecided;
}

/// What one reply means: a final answer, or none where the chief says to ask again (`reason`).
std::optional<absl::StatusOr<wire::JoinReplyT>> Judge(wire::JoinReplyT reply,
                                                      const std::string& address, wire::Role role,
                                                      std::string* reason) {
  switch (reply.outcome) {
    case wire::JoinOutcome::Accepted:
      if (reply.lease_ms == 0) return Refused(address, "it grants a lease of no length");
      if (reply.rdma > wire::RdmaUse::Used) {
        return Refused(address, absl::StrCat("unknown use of RDMA ", static_cast<int>(reply.rdma)));
      }
      if (MayBegin(reply, role)) return reply;
      *reason = reply.reason;
      return std::nullopt;
    case wire::JoinOutcome::Ended:
      return Ended(reply);
    case wire::JoinOutcome::Refused:
      return Refused(address, reply.reason);
    case wire::JoinOutcome::NotYet:
      *reason = reply.reason.empty() ? "it says: not yet" : reply.reason;
      return std::nullopt;
  }
  return Refused(address, absl::StrCat("unknown outcome ", static_cast<int>(reply.outcome)));
}

/// Logs at once and then every few seconds.
class WaitingLog {
 public:
  explicit WaitingLog(const std::string& address) : address_(address) {}
  void Say(absl::Time now, absl::string_view reason) {
    if (now < next_) return;
    LogInfo("waiting for the chief at ", address_, ": ", reason);
    next_ = now + kLogEvery;
  }

 private:
  const std::string& address_;
  absl::Time next_ = absl::InfinitePast();
};

/// The pause of a backoff, cut short by an interruption.
void Pause(absl::Duration pause, bool (*interrupted)()) {
  const absl::Time until = MonotonicNow() + pause;
  for (absl::Time now = MonotonicNow(); now < until; now = MonotonicNow()) {
    if (interrupted != nullptr && interrupted()) return;
    absl::SleepFor(std::min(until - now, absl::Milliseconds(50)));
  }
}

}  // namespace

absl::StatusOr<wire::JoinReplyT> AskToJoin(rpc::ChiefClient& chief, const SessionOptions& options,
                                           bool (*interrupted)()) {
  const std::string& address = options.chief_address;
  const absl::Time give_up = MonotonicNow() + options.start_deadline;
  WaitingLog log(address);
  for (;;) {
    if (interrupted != nullptr && interrupted())
      return absl::CancelledError(
          absl::StrCat("interrupted while waiting for the chief at ", address));
    const absl::Duration left = std::max(give_up - MonotonicNow(), absl::Milliseconds(1));
    std::string reason;
    auto reply = chief.Join(options.join, std::min(kAttempt, left));
    if (reply.ok()) {
      if (auto answer = Judge(*std::move(reply), address, options.join.role, &reason)) {
        return *std::move(answer);
      }
    } else if (IsPermanent(reply.status().code())) {
      return WithExitCode(reply.status(), ExitCode::kBadUsage);
    } else {
      // The client names the chief in front; the log line does so itself.
      reason = std::string(
          absl::StripPrefix(reply.status().message(), absl::StrCat("chief at ", address, ": ")));
    }
    const absl::Time now = MonotonicNow();
    if (now + kPause >= give_up) {
      return WithExitCode(
          absl::DeadlineExceededError(absl::StrCat(
              "no place in the job within ", absl::FormatDuration(options.start_deadline),
              " (--start-deadline): the chief at ", address, ": ", reason)),
          ExitCode::kPeerLost);
    }
    log.Say(now, reason);
    Pause(kPause, interrupted);
  }
}

}  // namespace weir
