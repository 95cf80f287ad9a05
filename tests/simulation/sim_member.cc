#include "tests/simulation/sim_member.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/model/protocol.h"
#include "tests/simulation/sim_chief.h"
#include "tests/simulation/sim_cluster.h"

namespace weir::sim {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(100);
constexpr absl::Duration kLeaveWithin = absl::Seconds(2);

}  // namespace

void SimMember::Start() {
  give_up_ = now() + world_.scenario().start_deadline;
  has_rdma_ = HasRdma();
  After(world_.random().Upto(absl::Milliseconds(20)), [this] {
    if (!world_.disk().HasFinal(world_.scenario().max_steps)) return AskToJoin();
    // As runtime/member_process.cc: a chief that lingers for this task learns that it came.
    world_.Count("nothing to do");
    world_.CallJoin(process(), Request(), [this](const auto*) { Exit(0, "nothing to do"); });
  });
}

wire::JoinRequestT SimMember::Request() const {
  wire::JoinRequestT request;
  request.protocol = kProtocolVersion;
  request.role = who().task.role;
  request.index = who().task.index;
  request.incarnation = who().incarnation.value();
  request.pid = static_cast<std::uint32_t>(process());
  if (request.role == wire::Role::Ps) request.address = who().task.ToString();
  request.host_id = who().task.ToString();
  request.rdma = has_rdma_;
  return request;
}

bool SimMember::moves_weights() const {
  return who().task.role == wire::Role::Ps || who().task.role == wire::Role::Worker;
}

bool SimMember::HasRdma() const {
  const Scenario& s = world_.scenario();
  const bool first_ps = who().task == chief::MemberId{wire::Role::Ps, 0};
  return s.rdma && moves_weights() &&
         (!first_ps || now() - absl::UnixEpoch() < s.first_ps_has_rdma_for);
}

wire::MemberMessageT SimMember::Message(wire::MemberBodyUnion body) const {
  wire::MemberMessageT message;
  message.role = who().task.role;
  message.index = who().task.index;
  message.incarnation = who().incarnation.value();
  message.rdma = rdma_;
  message.body = std::move(body);
  return message;
}

void SimMember::AskToJoin() {
  world_.CallJoin(process(), Request(), [this](const auto* reply) { OnJoinReply(reply); });
}

void SimMember::OnJoinReply(const wire::JoinReplyT* reply) {
  if (leaving_) return;
  if (reply != nullptr) {
    switch (reply->outcome) {
      case wire::JoinOutcome::Accepted:
        if (moves_weights() && reply->rdma == wire::RdmaUse::Undecided) break;
        rdma_ = reply->rdma;
        if (rdma_ == wire::RdmaUse::Used) world_.Count("told to use RDMA");
        return OnWelcome();
      case wire::JoinOutcome::Ended:
        return Exit(reply->exit_code, absl::StrCat("the job has ended: ", reply->reason));
      case wire::JoinOutcome::Refused:
        return Exit(2, absl::StrCat("refused: ", reply->reason));
      case wire::JoinOutcome::NotYet:
        break;
    }
  }
  if (now() + kPause >= give_up_) return Exit(4, "no place in the job within the start deadline");
  After(kPause, [this] { AskToJoin(); });
}

void SimMember::KeepPlace() {
  After(world_.scenario().lease / 3, [this] {
    if (stream_ != nullptr || leaving_) return;
    world_.CallJoin(process(), Request(), [](const auto*) {});
    KeepPlace();
  });
}

void SimMember::OpenSession() {
  SimChief* const chief = world_.chief();
  if (chief == nullptr) return LoseChief("nobody answers");
  leader_ = chief;
  stream_ = std::make_shared<SimStream>(world_.processes(), world_.network(), process(),
                                        chief->process());
  // Until the chief has it: a stream that breaks before ends too.
  stream_->OnEnd(nullptr, [this] { OnStreamEnded(); });
  heard_ = now();
  watch_.emplace(world_.scenario().lease, now());
  OnOpen();
  wire::HeartbeatT heartbeat;
  heartbeat.step = progress();
  wire::MemberBodyUnion body;
  body.Set(std::move(heartbeat));
  const auto first = std::make_shared<wire::MemberMessageT>(Message(std::move(body)));
  stream_->ToChief(
      [this, chief, first, stream = stream_] { chief->OpenSession(stream, *this, *first); });
  After(std::min(absl::Seconds(1), world_.scenario().lease / 5), [this] { Heartbeat(); });
  WatchLease();
}

void SimMember::SendAny(wire::MemberBodyUnion body) {
  if (stream_ == nullptr) return;
  const auto message = std::make_shared<wire::MemberMessageT>(Message(std::move(body)));
  stream_->ToChief([this, chief = leader_, message] { chief->OnMessage(session_, *message); });
}

void SimMember::Heartbeat() {
  if (leaving_) return;
  wire::HeartbeatT heartbeat;
  heartbeat.step = progress();
  Send(heartbeat);
  After(std::min(absl::Seconds(1), world_.scenario().lease / 5), [this] { Heartbeat(); });
}

void SimMember::WatchLease() {
  const absl::Duration tick =
      std::clamp(world_.scenario().lease / 20, absl::Milliseconds(5), absl::Milliseconds(100));
  After(tick, [this] {
    if (over_ || leaving_ || world_.scenario().plant == Plant::kDeafMembers) return;
    if (watch_->Lapsed(now(), heard_)) {
      world_.Count("member missed its chief");
      stream_->Break();
      return LoseChief("nothing heard for a lease");
    }
    WatchLease();
  });
}

void SimMember::OnChiefMessage(const wire::ChiefMessageT& message) {
  heard_ = now();
  if (over_ || leaving_) return;
  if (const auto* end = message.body.AsEnd()) {
    if (world_.scenario().plant == Plant::kDeafMembers) return;
    world_.Record(EndHeard{process(), end->exit_code});
    over_ = true;
    OnOver();
    return Leave(end->exit_code, end->reason);
  }
  if (const auto* changed = message.body.AsViewChanged()) {
    world_.Record(ViewTaken{process(), ViewNumber(changed->view->number),
                            moves_weights() ? rdma_ : wire::RdmaUse::Undecided});
    return OnView(*changed->view);
  }
  if (message.body.type != wire::ChiefBody::Lease) OnCommand(message);
}

void SimMember::OnStreamEnded() {
  if (leaving_) return Exit(exit_code_, reason_);
  if (over_ || world_.scenario().plant == Plant::kDeafMembers) return;
  LoseChief("the stream ended");
}

void SimMember::LoseChief(const std::string& why) {
  if (over_) return;
  over_ = lost_ = true;
  world_.Record(ChiefMissed{process()});
  EndLife();
  OnOver();
  Leave(world_.scenario().plant == Plant::kExitZero ? 0 : 4, absl::StrCat("lost the chief: ", why));
}

void SimMember::Leave(int exit_code, const std::string& reason) {
  if (std::exchange(leaving_, true)) return;
  exit_code_ = exit_code;
  reason_ = reason;
  wire::GoodbyeT goodbye;
  goodbye.exit_code = exit_code;
  goodbye.reason = reason;
  Send(std::move(goodbye));
  const bool waits = stream_ != nullptr && !lost_;
  After(waits ? kLeaveWithin : absl::ZeroDuration(), [this] { Exit(exit_code_, reason_); });
}

void SimMember::OnStopSignal() {
  if (leaving_) return;
  if (stream_ == nullptr) return Leave(0, "told to stop");
  OnStopInSession();
}

void SimMember::CutSession() {
  if (stream_ != nullptr) stream_->Break();
}

void SimMember::OnDeath() {
  EndLife();
  if (stream_ == nullptr) return;
  if (world_.random().Chance(0.5)) {
    stream_->Break();
  } else {
    stream_->Finish();
  }
}

SimCluster& SimMember::run() { return leader_->run(); }

}  // namespace weir::sim
