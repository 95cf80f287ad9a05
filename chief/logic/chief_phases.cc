// The phases of a job: what each waits for, and what follows it.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "chief/logic/chief.h"

namespace weir::chief {

void Chief::WaitForMembers(absl::Time now) {
  if (membership_.ready()) {
    phase_ = Phase::kTraining;
    phase_by_ = absl::InfiniteFuture();
    progress_.StartTraining(now);
    plan_.StartTraining(now);
    next_stats_ = now + options_.stats_period;
    output_.Log(LogLevel::kInfo,
                absl::StrCat("training begins at step ", options_.start_step.value(), " of ",
                             options_.max_steps.value()));
    return;
  }
  if (now >= phase_by_) {
    return Fail(
        4,
        absl::StrCat("not all members came within ", absl::FormatDuration(options_.start_deadline),
                     ": missing ", WhoIsMissing()),
        now);
  }
  if (now >= next_missing_log_) {
    next_missing_log_ = now + options_.missing_log_period;
    output_.Log(LogLevel::kInfo, absl::StrCat("waiting for ", WhoIsMissing()));
  }
}

// Those who are in open nothing, and no session, until it is known what carries the weights.
std::string Chief::WhoIsMissing() const {
  const bool held_up = !rdma_.decided() && membership_.anyone_present();
  return held_up ? rdma_.Awaited(membership_) : membership_.MissingForReady();
}

void Chief::Train(absl::Time now) {
  const EndOfJob::Verdict verdict =
      end_.Judge(membership_.Live(wire::Role::Worker), progress_.max_reached(), stopping());
  // One that was accepted may still do the remaining steps: it comes within a lease, or is lost.
  const bool may_go_on = !progress_.max_reached() && !stopping() && membership_.awaits_a_worker();
  if (verdict != EndOfJob::Verdict::kGoesOn && !may_go_on) return BeginSettling(verdict, now);
  if (phase_ == Phase::kTraining) PollStats(now);
  // The one of the last step is made when the last worker has finished.
  if (phase_ == Phase::kTraining && !progress_.max_reached() &&
      plan_.Due(progress_.global_step(), now)) {
    BeginCheckpoint(false, now);
  }
}

void Chief::BeginStopping(const std::string& reason, absl::Time now) {
  if (stopping()) return;
  stop_by_ = now + options_.grace;
  stop_reason_ = reason;
  if (phase_ == Phase::kWaiting) {
    return EndJob(0, absl::StrCat("stopped before training began: ", reason), options_.stop_linger,
                  now);
  }
  if (phase_ == Phase::kTraining) {
    output_.Log(LogLevel::kInfo, absl::StrCat("stopping: ", reason));
    phase_ = Phase::kStopping;
    wire::StopTrainingT stop;
    stop.reason = reason;
    for (wire::Role role : {wire::Role::Ps, wire::Role::Worker}) {
      for (const MemberRecord* member : membership_.Live(role)) SendTo(member->id, stop);
    }
  }
  if (phase_ == Phase::kLingering) {
    wait_for_unseen_ = false;
    phase_by_ = std::min(phase_by_, now + options_.stop_linger);
  }
}

void Chief::BeginSettling(EndOfJob::Verdict verdict, absl::Time now) {
  verdict_ = verdict;
  phase_ = Phase::kSettling;
  phase_by_ = now + options_.answer_limit;
  if (verdict == EndOfJob::Verdict::kStopped && !stopping()) {
    stop_by_ = now + options_.grace;
    stop_reason_ = end_.last_departure();
  }
  // At max_steps the step is known; else the last StepReached may still be on its way.
  if (!progress_.max_reached()) AskForStats(counter_ps());
}

void Chief::Settle(absl::Time now) {
  const auto owed = unanswered_.find(counter_ps());
  const bool unknown = !progress_.max_reached() && owed != unanswered_.end() && owed->second > 0;
  if (unknown && now < phase_by_) return;
  if (unknown) {
    output_.Log(LogLevel::kWarning,
                absl::StrCat("ps ", counter_ps(), " did not tell its step: going on with step ",
                             progress_.global_step().value()));
    if (stop_reason_.empty()) {
      stop_reason_ = absl::StrCat("ps ", counter_ps(), " did not tell which step was the last: ",
                                  "start the job again to go on from here");
    }
  }
  if (verdict_ == EndOfJob::Verdict::kWorkersLost && !progress_.max_reached()) {
    return Fail(4, absl::StrCat("no worker is left: ", end_.last_departure()), now);
  }
  // Of an unknown step nobody can say that it is the last: a later start goes on from there.
  complete_ = progress_.max_reached() || (verdict_ == EndOfJob::Verdict::kComplete && !unknown);
  LogProgress(now, true);
  phase_ = Phase::kSaving;
  phase_by_ = absl::InfiniteFuture();
}

void Chief::BeginCheckpoint(bool is_final, absl::Time now) {
  last_save_failure_.clear();
  const wire::TakeCheckpointT take =
      plan_.Begin(progress_.global_step(), is_final, options_.ps, now);
  for (const MemberRecord* ps : membership_.Live(wire::Role::Ps)) SendTo(ps->id, take);
}

void Chief::SaveLast(absl::Time now) {
  // A periodic one that is under way may turn out to be the one that is needed.
  if (!plan_.idle() || marking_final_) return;
  const auto is_saved = [this] {
    return plan_.last_saved().has_value() && plan_.last_saved()->step == progress_.global_step();
  };
  if (!last_save_begun_) {
    last_save_begun_ = true;
    last_save_failure_.clear();
    if (!is_saved()) return BeginCheckpoint(complete_, now);
    if (complete_ && !plan_.last_saved()->is_final) {
      marking_final_ = true;
      return output_.MarkFinal(plan_.last_saved()->folder);
    }
  }
  if (!is_saved() || !last_save_failure_.empty()) {
    return Fail(1, absl::StrCat("the last checkpoint was not saved: ", last_save_failure_), now);
  }
  phase_ = Phase::kEvaluating;
}

void Chief::EvaluateLast(absl::Time now) {
  const CheckpointPlan::Saved& saved = *plan_.last_saved();
  if (!complete_ || stopping() || !options_.has_test_data || evaluations_.HasResultOf(saved.step)) {
    return BeginCollecting(now);
  }
  if (evaluating_.has_value() && now < phase_by_) return;
  if (evaluating_.has_value()) {
    output_.Log(LogLevel::kWarning,
                absl::StrCat("gave up waiting for ", evaluating_->ToString(), "'s evaluation of ",
                             saved.folder, " after ", absl::FormatDuration(options_.end_linger)));
    return BeginCollecting(now);
  }
  evaluating_ = evaluations_.NextCandidate(membership_);
  if (!evaluating_.has_value()) {
    output_.Log(LogLevel::kWarning, "nobody is left to evaluate the last checkpoint");
    return BeginCollecting(now);
  }
  phase_by_ = now + options_.end_linger;
  if (evaluating_->role == wire::Role::Evaluator) {
    // CheckpointSaved asks it; where this run saved nothing, nobody has told it yet.
    if (!std::exchange(announce_saved_, true)) TellActiveEvaluator();
    return;
  }
  wire::EvaluateT evaluate;
  evaluate.checkpoint = saved.folder;
  evaluate.step = saved.step.value();
  SendTo(*evaluating_, std::move(evaluate));
}

void Chief::PollStats(absl::Time now) {
  if (now < next_stats_) return;
  next_stats_ = now + options_.stats_period;
  for (std::uint32_t ps : options_.ps) {
    if (unanswered_[ps] == 0) AskForStats(ps);
  }
}

void Chief::AskForStats(std::uint32_t ps) {
  const MemberRecord* record = membership_.Find({wire::Role::Ps, ps});
  if (record == nullptr || record->state != MemberState::kLive) return;
  unanswered_[ps] += static_cast<int>(options_.ps_threads);
  SendTo(record->id, wire::SendStatsT());
}

std::vector<std::uint32_t> Chief::PsThatOweStats() const {
  std::vector<std::uint32_t> owing;
  for (const auto& [ps, owed] : unanswered_) {
    if (owed > 0) owing.push_back(ps);
  }
  return owing;
}

void Chief::BeginCollecting(absl::Time now) {
  phase_ = Phase::kCollecting;
  phase_by_ = now + options_.answer_limit;
  for (std::uint32_t ps : options_.ps) AskForStats(ps);
}

void Chief::Collect(absl::Time now) {
  const std::vector<std::uint32_t> owing = PsThatOweStats();
  if (!owing.empty() && now < phase_by_) return;
  if (!owing.empty()) {
    output_.Log(LogLevel::kWarning, absl::StrCat("the summary misses the last figures of ps ",
                                                 absl::StrJoin(owing, ", ps ")));
  }
  const std::uint64_t step = progress_.global_step().value();
  if (!complete_ || stopping()) {
    return EndJob(0, absl::StrCat("stopped at step ", step, ": ", stop_reason_),
                  options_.stop_linger, now);
  }
  wait_for_unseen_ = true;
  EndJob(0,
         progress_.max_reached() ? absl::StrCat("max_steps ", step, " reached")
                                 : absl::StrCat("every worker finished, at step ", step),
         options_.end_linger, now);
}

void Chief::EndJob(int exit_code, const std::string& reason, absl::Duration linger,
                   absl::Time now) {
  phase_ = Phase::kLingering;
  phase_by_ = now + linger;
  if (exit_code == 0 && now < status_asked_ + options_.watcher_patience) {
    watcher_by_ = now + options_.watcher_patience;
  }
  exit_code_ = exit_code;
  end_reason_ = reason;
  output_.Log(exit_code == 0 ? LogLevel::kInfo : LogLevel::kError,
              absl::StrCat("the job ends: ", reason));
  wire::EndT end;
  end.exit_code = exit_code;
  end.reason = reason;
  SendToAll(end);
}

void Chief::Fail(int exit_code, const std::string& reason, absl::Time now) {
  if (phase_ >= Phase::kLingering) return;
  EndJob(exit_code, reason, options_.failure_linger, now);
}

void Chief::Linger(absl::Time now) {
  const bool all_gone = !membership_.anyone_present() &&
                        (!wait_for_unseen_ || membership_.every_listed_task_is_gone());
  if (watcher_by_.has_value() && now >= *watcher_by_) watcher_by_.reset();
  if ((!all_gone || watcher_by_.has_value()) && now < phase_by_) return;
  phase_ = Phase::kDone;
  finished_at_ = now;
  output_.Finish(exit_code_, end_reason_);
}

std::string Chief::WhatIsLate() const {
  if (phase_ == Phase::kSaving) {
    const std::string waiting = plan_.Waiting();
    return waiting.empty() ? "the final mark of the last checkpoint" : waiting;
  }
  if (phase_ == Phase::kSettling) return absl::StrCat("the step of ps ", counter_ps());
  std::vector<std::string> late;
  for (const MemberRecord* worker : membership_.Live(wire::Role::Worker)) {
    if (!worker->finished) late.push_back(worker->Describe());
  }
  return absl::StrJoin(late, ", ");
}

}  // namespace weir::chief
