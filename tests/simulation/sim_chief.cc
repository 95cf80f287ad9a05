#include "tests/simulation/sim_chief.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/model/protocol.h"
#include "tests/simulation/gradient.h"
#include "tests/simulation/sim_cluster.h"
#include "tests/simulation/sim_member.h"

namespace weir::sim {
namespace {

using chief::SessionId;

Step StepOf(const std::string& folder) {
  std::uint64_t step = 0;
  (void)absl::SimpleAtoi(folder.substr(folder.find('-') + 1), &step);
  return Step(step);
}

std::set<std::uint32_t> UpTo(int count) {
  std::set<std::uint32_t> indices;
  for (int i = 0; i < count; ++i) indices.insert(static_cast<std::uint32_t>(i));
  return indices;
}

}  // namespace

SimChief::SimChief(SimWorld& world, const TaskLife& who)
    : SimTask(world, who), committer_(world, process()) {}

SimChief::~SimChief() = default;

void SimChief::Start() {
  After(world_.random().Upto(absl::Milliseconds(20)), [this] {
    if (world_.disk().HasFinal(world_.scenario().max_steps)) return Exit(0, "nothing to do");
    Prepare();
  });
}

// As runtime/chief_role.cc does it: what was left unfinished goes, and the newest is resumed.
void SimChief::Prepare() {
  const Scenario& s = world_.scenario();
  world_.disk().RemoveIncomplete();
  const std::vector<Step> complete = world_.disk().Complete();
  Step start;
  if (!complete.empty()) {
    const bool older = s.plant == Plant::kResumeOlder && complete.size() > 1;
    start = older ? complete[complete.size() - 2] : complete.back();
  }
  SimCluster::Values first;
  for (const Block& block : world_.layout().blocks()) {
    first.emplace_back();
    for (std::int64_t i = 0; i < block.elements; ++i) {
      first.back().push_back(InitialValue(block.id, static_cast<std::size_t>(i)));
    }
  }
  chief::ChiefOptions options;
  if (const auto* folder = world_.disk().Find(start); folder != nullptr && !complete.empty()) {
    for (const auto& [shard, file] : folder->files) {
      for (const SimShardFile::Entry& entry : file.entries)
        first[entry.block.value()] = entry.values;
    }
    options.resume_checkpoint = chief::CheckpointFolder(start);
    options.resume_is_final = folder->manifest->is_final;
    world_.Count("run resumed");
  }
  options.ps = UpTo(s.ps);
  options.ps_threads = static_cast<std::uint32_t>(s.ps_threads);
  options.workers = UpTo(s.workers);
  options.evaluators = UpTo(s.evaluators);
  options.address = "chief:1";
  options.incarnation = who().incarnation.value();
  options.protocol = kProtocolVersion;
  options.start_step = start;
  options.max_steps = s.max_steps;
  options.save_checkpoints_steps = s.save_checkpoints_steps;
  options.save_checkpoints_secs = s.save_checkpoints_secs;
  options.keep_checkpoint_max = s.keep_checkpoint_max;
  options.lease = s.lease;
  options.start_deadline = s.start_deadline;
  options.grace = s.grace;
  options.end_linger = s.end_linger;
  world_.Record(RunStarted{process(), start, world_.IsIntact(start, first)});
  run_ = std::make_unique<SimCluster>(world_, start, std::move(first));
  world_.OnRunStarted(this);
  chief_ = std::make_unique<chief::Chief>(options, static_cast<chief::ChiefOutput&>(*this));
  last_look_ = now();
  Handle([this](absl::Time at) { chief_->Start(at); });
}

void SimChief::OnStopSignal() {
  if (!leads()) return Exit(0, "told to stop");
  Handle([this](absl::Time at) { chief_->OnStopRequested("told to stop", at); });
}

void SimChief::OnDeath() {
  if (run_ != nullptr) run_->EndAllLives();
}

void SimChief::Handle(const std::function<void(absl::Time)>& event) {
  NoticeStop();
  event(now());
  ObservePhase();
  SetAlarm();
}

void SimChief::NoticeStop() {
  const absl::Duration lease = world_.scenario().lease;
  if (now() - std::exchange(last_look_, now()) <= lease / 2) return;
  world_.Count("chief held up");
  world_.Record(LeasesHeld{process(), now() + lease / 2});
  chief_->OnHeldUp(now());
}

void SimChief::ObservePhase() {
  if (seen_phase_ == chief_->phase()) return;
  seen_phase_ = chief_->phase();
  world_.Record(PhaseEntered{process(), *seen_phase_});
  world_.Count(absl::StrCat("phase ", PhaseText(*seen_phase_)));
  world_.OnPhase(*seen_phase_);
  if (*seen_phase_ == chief::Phase::kLingering && world_.scenario().plant == Plant::kHastyEnd) {
    After(absl::Milliseconds(1), [this] { Exit(0, "hasty"); });
  }
}

void SimChief::SetAlarm() {
  const absl::Time next = std::min(chief_->next_deadline(), now() + world_.scenario().lease / 4);
  if (alarm_ > now() && next >= alarm_) return;
  alarm_ = std::max(next, now());
  world_.processes().At(process(), alarm_, [this, at = alarm_] {
    if (alarm_ != at) return;  // an earlier one took its place
    alarm_ = absl::InfinitePast();
    Handle([this](absl::Time when) { chief_->OnTick(when); });
  });
}

wire::JoinReplyT SimChief::Join(const wire::JoinRequestT& request) {
  wire::JoinReplyT reply;
  Handle([&](absl::Time at) { reply = chief_->OnJoin(request, at); });
  world_.Count(absl::StrCat("join ", wire::EnumNameJoinOutcome(reply.outcome)));
  return reply;
}

void SimChief::OpenSession(const std::shared_ptr<SimStream>& stream, SimMember& member,
                           const wire::MemberMessageT& first) {
  last_session_ = last_session_.next();
  const SessionId id = last_session_;
  sessions_[id] = {stream, &member};
  member.OnSessionNumber(id);
  stream->OnEnd(
      [this, id, &member] {
        world_.Record(MemberDropped{process(), member.process(), false});
        member.EndLife();
        sessions_.erase(id);
        Handle([&](absl::Time at) { chief_->OnSessionClosed(id, "its process ended", at); });
      },
      [&member] { member.OnStreamEnded(); });
  world_.Record(MemberOpened{process(), member.process()});
  Handle([&](absl::Time at) { chief_->OnSessionOpened(id, first, at); });
}

void SimChief::OnMessage(SessionId session, const wire::MemberMessageT& message) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  const std::shared_ptr<SimStream> stream = found->second.stream;
  world_.Record(MemberHeard{process(), stream->member()});
  const bool heartbeat = message.body.type == wire::MemberBody::Heartbeat;
  if (heartbeat && world_.scenario().plant == Plant::kDropHeartbeats &&
      world_.random().Chance(0.9)) {
    return;
  }
  Handle([&](absl::Time at) { chief_->OnMessage(session, message, at); });
  if (message.body.type == wire::MemberBody::Goodbye) stream->Finish();
}

void SimChief::PublishView(const wire::ViewT& view) {
  if (ViewNumber(view.number) <= published_) return;
  published_ = ViewNumber(view.number);
  ViewPublished published{process(), published_, {}};
  for (const auto& member : view.members) {
    published.live.push_back({{member->role, member->index}, Incarnation(member->incarnation)});
  }
  world_.Record(std::move(published));
}

void SimChief::Send(SessionId to, wire::ChiefMessageT message) {
  const auto found = sessions_.find(to);
  if (found == sessions_.end()) return;
  if (const auto* changed = message.body.AsViewChanged()) PublishView(*changed->view);
  SimMember* const member = found->second.member;
  const auto shared = std::make_shared<wire::ChiefMessageT>(std::move(message));
  const auto deliver = [member, shared] { member->OnChiefMessage(*shared); };
  if (world_.scenario().plant == Plant::kViewsReordered && shared->body.AsViewChanged()) {
    world_.processes().After(member->process(), world_.random().Upto(absl::Milliseconds(50)),
                             deliver);
    return;
  }
  found->second.stream->ToMember(deliver);
}

void SimChief::CloseSession(SessionId session, absl::string_view why) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  SimMember& member = *found->second.member;
  const bool silent = absl::StrContains(why, "silent");
  world_.Record(MemberDropped{process(), member.process(), silent});
  world_.Count(silent ? "lease expired" : "session closed");
  member.EndLife();
  found->second.stream->Break();
}

void SimChief::CommitCheckpoint(chief::CheckpointRecord record) {
  committer_.Commit(record, [this](const absl::Status& status) {
    Handle([&](absl::Time at) { chief_->OnCheckpointCommitted(status, at); });
  });
}

void SimChief::MarkFinal(const std::string& folder) {
  committer_.MarkFinal(StepOf(folder), [this](const absl::Status& status) {
    Handle([&](absl::Time at) { chief_->OnCheckpointMarkedFinal(status, at); });
  });
}

void SimChief::Log(LogLevel, absl::string_view text) {
  if (world_.scheduler().tracing()) world_.scheduler().Trace(absl::StrCat("chief: ", text));
}

void SimChief::Finish(int exit_code, const std::string& reason) {
  result_ = exit_code;
  world_.Record(RunFinished{process(), exit_code, reason});
  // The summary is written, the server shut down; joins are answered till then.
  After(world_.random().Upto(absl::Milliseconds(100)),
        [this, exit_code, reason] { Exit(exit_code, reason); });
}

}  // namespace weir::sim
