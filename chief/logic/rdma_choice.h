#pragma once

#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "chief/logic/chief_options.h"
#include "chief/logic/membership.h"
#include "common/base/ids.h"
#include "schemas/chief_generated.h"

namespace weir::chief {

/// What --transport asks of RDMA.
enum class RdmaRule {
  kNever,         ///< tcp, shm; and auto where all addresses are loopback: one host
  kBetweenHosts,  ///< auto: where there are several hosts and every ps and worker has it
  kAlways,        ///< rdma, require-rdma
};
RdmaRule RdmaRuleOf(const ChiefOptions& options);

/// A ps or worker that is in, as far as RDMA goes.
struct RdmaMember {
  std::string name;     ///< "worker 1"
  std::string host_id;  ///< equal on one host
  std::string no_rdma;  ///< why it has no RDMA; empty: it has
};

struct RdmaVerdict {
  wire::RdmaUse use = wire::RdmaUse::Undecided;
  std::string why_unused;  ///< what people should know about Unused; empty: nothing
};

/// The rule's verdict on these members. `all_in`: no others are waited for; without it the verdict
/// is Undecided where another member could change it.
RdmaVerdict ChooseRdma(RdmaRule rule, std::span<const RdmaMember> members, bool all_in);

/// Decides for a job, once, before anybody opens a data path: UCX makes one kind of connection a
/// context, and a context is opened before its peers are known. All listed ps and workers are
/// waited for; workers only for `options.rdma_patience` once all ps and one of them are in, since
/// a listed worker need not come. Pure; one thread.
class RdmaChoice {
 public:
  /// `options` outlives it.
  explicit RdmaChoice(const ChiefOptions& options);

  /// Draws its conclusions from who is in. Returns a line for the log where there is news.
  std::optional<std::string> Look(const Membership& membership, absl::Time now);
  const RdmaVerdict& verdict() const { return verdict_; }
  bool decided() const { return verdict_.use != wire::RdmaUse::Undecided; }
  /// When Look is due though nobody came or went.
  absl::Time next_look() const;

  /// Why a member that asks to join may not, by what was decided; empty: it may.
  std::string RefusalOf(const wire::JoinRequestT& request) const;

  /// Whether a member that is refused makes the choice of RDMA a wrong one: a ps, without which no
  /// training begins. Where RDMA was asked for, somebody mends that; where it was chosen, only a
  /// chief that is started again chooses otherwise.
  bool IsProvedWrongBy(const wire::JoinRequestT& request) const;

  /// Whether a member may open its session: what it was told when it joined, maybe by a chief that
  /// this one replaces, is what was decided. kFailedPrecondition: it is not.
  absl::Status CheckOpening(const wire::MemberMessageT& first) const;

  /// Whom an open decision waits for: "ps 1, worker 0".
  std::string Awaited(const Membership& membership) const;

 private:
  void WaitFor(const Membership& membership, absl::Time now);
  bool AllIn(const Membership& membership, absl::Time now) const;

  const ChiefOptions& options_;
  const RdmaRule rule_;
  RdmaVerdict verdict_;
  ViewNumber seen_;                                   // the last that was looked at
  absl::Time enough_since_ = absl::InfiniteFuture();  // all ps and one worker are in
};

}  // namespace weir::chief
