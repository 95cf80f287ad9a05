#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "chief/logic/chief_options.h"
#include "chief/logic/member_id.h"
#include "common/base/ids.h"
#include "schemas/chief_generated.h"

namespace weir::chief {

enum class MemberState {
  kJoined,  ///< accepted; has a lease's time to open its session
  kLive,    ///< its session is open and its lease holds
  kLost,    ///< its session broke off or its lease ran out
  kLeft,    ///< it said goodbye
};

/// The latest incarnation of one task.
struct MemberRecord {
  MemberId id;
  Incarnation incarnation;
  std::uint32_t pid = 0;
  std::string host_id;
  std::string address;
  std::string ucx_version;
  std::string no_rdma;  ///< of a ps or worker: why it cannot move weights by RDMA; empty: it can
  MemberState state = MemberState::kJoined;
  SessionId session;       ///< its last; 0 before its first
  absl::Time lease_until;  ///< while joined or live
  bool finished = false;   ///< a worker that takes no more steps
  bool external = false;   ///< a program that uses weir::Client: it cannot evaluate
  std::optional<int> exit_code;
  std::optional<std::uint64_t> peak_rss_bytes;

  bool was_live() const { return session != SessionId(); }
  bool present() const { return state == MemberState::kJoined || state == MemberState::kLive; }
  std::string Describe() const;  ///< "ps 1 (host:port)"
};

/// Who is in, on whose word. A view's number grows with every change of the live members; it is
/// ready, once and for all, when every ps and one worker are live at the same time.
class Membership {
 public:
  explicit Membership(const ChiefOptions& options);

  /// Why nobody may ever join like this; empty if one may.
  std::string RefusalOf(const wire::JoinRequestT& request) const;

  struct Decision {
    wire::JoinOutcome outcome = wire::JoinOutcome::Accepted;
    std::string reason;
  };
  /// Refused: another protocol, job, settings, UCX series, or a task that is not in the cluster.
  /// NotYet: an earlier incarnation still holds its lease. Accepted: it does now, and is to open
  /// its session within the lease.
  Decision Join(const wire::JoinRequestT& request, absl::Time now);

  /// One that came after the end and was told so: it is there no more than one that left.
  void Dismiss(const wire::JoinRequestT& request);

  /// Makes an accepted member live. kFailedPrecondition: this incarnation was not accepted, its
  /// lease ran out, or it has a session already.
  absl::Status Open(SessionId session, MemberId id, Incarnation incarnation, absl::Time now);
  void Renew(MemberId id, absl::Time now);
  /// Lengthens every lease that would run out before `until`.
  void HoldUntil(absl::Time until);
  /// Those whose lease has run out: silent since a lease.
  std::vector<MemberId> Expired(absl::Time now) const;
  absl::Time next_expiry() const;
  void Lose(MemberId id);
  void Leave(MemberId id, int exit_code, std::uint64_t peak_rss_bytes);
  void MarkFinished(MemberId id);

  const MemberRecord* Find(MemberId id) const;
  const MemberRecord* FindSession(SessionId session) const;
  /// By ascending index.
  std::vector<const MemberRecord*> Live(wire::Role role) const;
  std::vector<const MemberRecord*> Live() const;
  bool anyone_present() const;
  /// A worker was accepted and has yet to open its session.
  bool awaits_a_worker() const;
  const std::map<MemberId, MemberRecord>& members() const { return members_; }

  /// What readiness waits for, as words: "ps 1, a worker".
  std::string MissingForReady() const;
  /// Every listed task came, and left or was lost or dismissed. One that never opened its session
  /// did not come: it may not have heard that it was accepted.
  bool every_listed_task_is_gone() const;
  /// Why `member` may not talk to the ps over UCX; empty if it may.
  std::string UcxMismatch(const std::string& ucx_version) const;

  bool ready() const { return ready_; }
  ViewNumber view() const { return view_; }
  /// The chief and the live members.
  wire::ViewT BuildView() const;

 private:
  MemberRecord RecordOf(const wire::JoinRequestT& request) const;
  std::string RefusalOfTask(const wire::JoinRequestT& request) const;
  std::string RefusalOfSettings(const wire::JoinRequestT& request) const;
  void Changed();

  const ChiefOptions& options_;
  std::map<MemberId, MemberRecord> members_;
  ViewNumber view_;
  bool ready_ = false;
};

}  // namespace weir::chief
