// Members come, go and speak: the events of Chief that concern one of them.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "chief/logic/chief.h"
#include "chief/logic/message_checks.h"

namespace weir::chief {

// A worker that comes when no step is left has nothing to do, and an evaluator can still help.
std::string Chief::AnswerAfterTraining(const wire::JoinRequestT& request,
                                       wire::JoinOutcome* outcome) const {
  *outcome = wire::JoinOutcome::Accepted;
  if (phase_ >= Phase::kLingering) {
    *outcome = wire::JoinOutcome::Ended;
    if (exit_code_ == 0) return end_reason_;
    return absl::StrCat("it has failed (", end_reason_, "): start all its roles again");
  }
  if (phase_ <= Phase::kTraining || request.role == wire::Role::Evaluator) return "";
  // Still open: the workers' loss becomes an error, or the end at max_steps.
  const bool undecided = phase_ == Phase::kSettling && verdict_ == EndOfJob::Verdict::kWorkersLost;
  *outcome = undecided ? wire::JoinOutcome::NotYet : wire::JoinOutcome::Ended;
  return undecided ? "the job is about to end" : "training has ended";
}

wire::JoinReplyT Chief::OnJoin(const wire::JoinRequestT& request, absl::Time now) {
  // Leases that ran out by now must not answer for their holders.
  Advance(now);
  wire::JoinReplyT reply;
  reply.reason = membership_.RefusalOf(request);
  if (reply.reason.empty()) reply.reason = rdma_.RefusalOf(request);
  if (reply.reason.empty()) {
    reply.reason = AnswerAfterTraining(request, &reply.outcome);
    if (reply.outcome == wire::JoinOutcome::Ended) {
      reply.exit_code = exit_code_;
      membership_.Dismiss(request);  // it leaves: nobody lingers for it
      Advance(now);
    }
  } else {
    reply.outcome = wire::JoinOutcome::Refused;
  }
  if (reply.outcome == wire::JoinOutcome::Accepted) {
    Membership::Decision decision = membership_.Join(request, now);
    reply.outcome = decision.outcome;
    reply.reason = std::move(decision.reason);
  }
  if (reply.outcome == wire::JoinOutcome::Refused) {
    // A worker need not serve anywhere.
    const std::string where =
        request.address.empty() ? "" : absl::StrCat(" at ", ForLog(request.address));
    output_.Log(LogLevel::kWarning,
                absl::StrCat("refused ", MemberId{request.role, request.index}.ToString(), where,
                             ": ", ForLog(reply.reason)));
    if (phase_ == Phase::kWaiting && rdma_.IsProvedWrongBy(request)) {
      Fail(4,
           absl::StrCat(MemberId{request.role, request.index}.ToString(),
                        " has no RDMA, and the job was set up to use it (", ForLog(request.no_rdma),
                        "): start all roles again"),
           now);
    }
  }
  if (reply.outcome != wire::JoinOutcome::Accepted) return reply;
  reply.lease_ms = static_cast<std::uint32_t>(absl::ToInt64Milliseconds(options_.lease));
  reply.model_dir_nonce = options_.model_dir_nonce;
  reply.resume_checkpoint = options_.resume_checkpoint;
  reply.start_step = options_.start_step.value();
  reply.transport = options_.transport;
  reply.ps_threads = options_.ps_threads;
  if (request.role == wire::Role::Ps) DismissMismatchedWorkers();
  Advance(now);
  reply.rdma = rdma_.verdict().use;
  if (!rdma_.decided()) {
    reply.reason =
        absl::StrCat("it waits for ", rdma_.Awaited(membership_), ", to see whether all have RDMA");
  }
  return reply;
}

// Workers that came before the first ps could not be compared with any.
void Chief::DismissMismatchedWorkers() {
  for (const MemberRecord* worker : membership_.Live(wire::Role::Worker)) {
    const std::string mismatch = membership_.UcxMismatch(worker->ucx_version);
    if (mismatch.empty()) continue;
    output_.Log(LogLevel::kWarning, absl::StrCat("dismissed ", worker->Describe(), ": ", mismatch));
    wire::EndT end;
    end.exit_code = 2;
    end.reason = mismatch;
    SendTo(worker->id, std::move(end));
  }
}

void Chief::OnSessionOpened(SessionId session, const wire::MemberMessageT& first, absl::Time now) {
  const MemberId id{first.role, first.index};
  // One that was accepted may be late: its lease has run out by now, as far as anybody can tell.
  ExpireLeases(now);
  absl::Status opened = rdma_.CheckOpening(first);
  if (opened.ok()) opened = membership_.Open(session, id, Incarnation(first.incarnation), now);
  if (!opened.ok()) {
    output_.Log(LogLevel::kWarning,
                absl::StrCat("closed a session: ", std::string(opened.message())));
    output_.CloseSession(session, opened.message());
    return Advance(now);
  }
  const MemberRecord& record = *membership_.Find(id);
  output_.Log(LogLevel::kInfo, absl::StrCat(record.Describe(), " joined"));
  if (id.role == wire::Role::Worker) DismissMismatchedWorkers();
  if (phase_ >= Phase::kLingering) {
    wire::EndT end;
    end.exit_code = exit_code_;
    end.reason = end_reason_;
    SendTo(id, std::move(end));
  }
  // Before its message: where that ends the member again, training must have begun with it.
  Advance(now);
  if (first.body.type != wire::MemberBody::NONE) OnMessage(session, first, now);
}

void Chief::OnMessage(SessionId session, const wire::MemberMessageT& message, absl::Time now) {
  const MemberRecord* from = membership_.FindSession(session);
  if (from == nullptr) return;  // it left or was lost: what is late no longer counts
  const absl::Status checked =
      CheckMessage(from->id.role, message, {last_step(), membership_.view(), options_.ps_threads});
  if (!checked.ok()) {
    Lose(from->id, absl::StrCat("it sent nonsense: ", std::string(checked.message())), now);
  } else {
    membership_.Renew(from->id, now);
    Dispatch(*from, message, now);
  }
  Advance(now);
}

void Chief::Dispatch(const MemberRecord& from, const wire::MemberMessageT& message,
                     absl::Time now) {
  const wire::MemberBodyUnion& body = message.body;
  switch (body.type) {
    case wire::MemberBody::Heartbeat:
      // StepReached comes only every so many steps.
      if (from.id == MemberId{wire::Role::Ps, counter_ps()}) {
        progress_.OnStepReached(Step(body.AsHeartbeat()->step));
      }
      return SendTo(from.id, wire::LeaseT());
    case wire::MemberBody::TrainingLine:
      return output_.AppendMetrics(
          progress_.OnTrainingLine(from.id.index, *body.AsTrainingLine(), now));
    case wire::MemberBody::StepReached:
      if (from.id.index == counter_ps()) {
        progress_.OnStepReached(Step(body.AsStepReached()->step));
      }
      return;
    case wire::MemberBody::CheckpointDone:
      return OnCheckpointDone(from, *body.AsCheckpointDone(), now);
    case wire::MemberBody::EvaluationDone:
      return OnEvaluationDone(from, *body.AsEvaluationDone(), now);
    case wire::MemberBody::Finished:
      return OnFinished(from, *body.AsFinished());
    case wire::MemberBody::StopRequested:
      // A ps takes its shard with it: the job stops. Others just leave, with a goodbye.
      if (from.id.role == wire::Role::Ps) {
        BeginStopping(absl::StrCat(from.Describe(), " was asked to stop (",
                                   ForLog(body.AsStopRequested()->reason), ")"),
                      now);
      }
      return;
    case wire::MemberBody::Paths:
      stats_.OnPaths(from.id, *body.AsPaths());
      for (const std::string& line : stats_.PathTable(from.id)) {
        output_.Log(LogLevel::kInfo,
                    absl::StrCat("path of ", from.id.ToString(), " to ", ForLog(line)));
      }
      return;
    case wire::MemberBody::Stats:
      OnStats({from.id.index, body.AsStats()->thread}, *body.AsStats()->stats);
      if (int& owed = unanswered_[from.id.index]; owed > 0) --owed;
      return;
    case wire::MemberBody::Goodbye:
      return OnGoodbye(from, *body.AsGoodbye(), now);
    case wire::MemberBody::NONE:
      return;
  }
}

void Chief::OnStats(ShardId shard, const wire::ShardStatsT& stats) {
  stats_.OnStats(shard, stats);
  if (shard != ShardId{counter_ps()}) return;
  // Its count is exact, where StepReached may still be on its way.
  const std::uint64_t steps =
      std::min(stats_.completed_steps(), last_step().value() - options_.start_step.value());
  progress_.OnStepReached(Step(options_.start_step.value() + steps));
}

void Chief::OnCheckpointDone(const MemberRecord& from, const wire::CheckpointDoneT& done,
                             absl::Time now) {
  switch (plan_.OnDone({from.id.index, done.thread}, done)) {
    case CheckpointPlan::Answer::kIgnored:
    case CheckpointPlan::Answer::kPending:
      break;
    case CheckpointPlan::Answer::kComplete:
      output_.CommitCheckpoint(plan_.TakeRecord());
      break;
    case CheckpointPlan::Answer::kFailed:
      last_save_failure_ = ForLog(plan_.failure());
      output_.Log(LogLevel::kError, absl::StrCat("no checkpoint was saved: ", last_save_failure_));
      break;
    case CheckpointPlan::Answer::kNonsense:
      return Lose(from.id, "it sent nonsense: CheckpointDone for what it was not asked", now);
  }
  if (done.stats != nullptr) OnStats({from.id.index, done.thread}, *done.stats);
}

void Chief::OnEvaluationDone(const MemberRecord& from, const wire::EvaluationDoneT& done,
                             absl::Time now) {
  if (!done.error.empty()) {
    output_.Log(LogLevel::kWarning, absl::StrCat(from.Describe(), " could not evaluate step ",
                                                 done.step, ": ", ForLog(done.error)));
    const bool of_the_last =
        plan_.last_saved().has_value() && plan_.last_saved()->step == Step(done.step);
    if (evaluating_ == from.id && of_the_last) evaluating_.reset();
    return;
  }
  evaluations_.OnDone(done);
  output_.AppendMetrics(progress_.EvaluationMetrics(done, now));
  output_.Log(LogLevel::kInfo,
              absl::StrFormat("evaluation at step %d: accuracy %.4f loss %.4f (%d examples)",
                              done.step, done.accuracy, done.loss, done.examples));
}

void Chief::OnFinished(const MemberRecord& from, const wire::FinishedT& finished) {
  if (from.finished) return;
  membership_.MarkFinished(from.id);
  progress_.OnFinished(from.id.index, finished);
  stats_.OnFinished(from.id.index, finished);
  end_.OnFinished();
  output_.Log(LogLevel::kInfo, absl::StrCat(from.Describe(), " finished after ", finished.steps,
                                            " steps: ", ForLog(finished.reason)));
}

void Chief::OnGoodbye(const MemberRecord& from, const wire::GoodbyeT& goodbye, absl::Time now) {
  const std::string reason = ForLog(goodbye.reason);
  const std::string what =
      absl::StrCat(from.Describe(), " left with exit code ", goodbye.exit_code, ": ", reason);
  // After the end goodbyes are what everybody waits for, not news.
  const bool expected = phase_ >= Phase::kLingering && goodbye.exit_code == exit_code_;
  output_.Log(expected ? LogLevel::kDebug : LogLevel::kInfo, what);
  const MemberId id = from.id;
  membership_.Leave(id, goodbye.exit_code, goodbye.peak_rss_bytes);
  const MemberRecord& left = *membership_.Find(id);
  if (id.role == wire::Role::Worker && !left.finished) {
    end_.OnLeft(left, goodbye.exit_code, reason);
    progress_.OnWorkerGone(id.index);
  }
  if (id.role == wire::Role::Ps) OnPsGone(left, what, now);
  if (evaluating_ == id) evaluating_.reset();
}

void Chief::OnSessionClosed(SessionId session, const std::string& how, absl::Time now) {
  const MemberRecord* member = membership_.FindSession(session);
  if (member != nullptr) Lose(member->id, how, now);
  Advance(now);
}

void Chief::Lose(MemberId id, const std::string& how, absl::Time now) {
  const MemberRecord& record = *membership_.Find(id);
  const bool was_live = record.state == MemberState::kLive;
  const SessionId session = record.session;
  membership_.Lose(id);
  if (!was_live) return;  // it never was in any view
  output_.CloseSession(session, how);
  const std::string what = absl::StrCat(record.Describe(), " was lost: ", how);
  output_.Log(LogLevel::kWarning, what);
  if (id.role == wire::Role::Worker && !record.finished) {
    end_.OnLost(record, how);
    progress_.OnWorkerGone(id.index);
  }
  if (id.role == wire::Role::Ps) OnPsGone(record, what, now);
  if (evaluating_ == id) evaluating_.reset();
}

void Chief::OnPsGone(const MemberRecord& ps, const std::string& what, absl::Time now) {
  unanswered_.erase(ps.id.index);
  if (plan_.OnPsLost(ps.id.index)) last_save_failure_ = plan_.failure();
  // Before training it may come back; once the last checkpoint is saved nobody needs it.
  if (needs_ps()) Fail(4, what, now);
}

}  // namespace weir::chief
