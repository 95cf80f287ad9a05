#include "chief/logic/chief.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace weir::chief {

absl::string_view PhaseText(Phase phase) {
  switch (phase) {
    case Phase::kWaiting:
      return "waiting for members";
    case Phase::kTraining:
      return "training";
    case Phase::kStopping:
      return "stopping";
    case Phase::kSettling:
      return "settling";
    case Phase::kSaving:
      return "saving";
    case Phase::kEvaluating:
      return "evaluating";
    case Phase::kCollecting:
      return "collecting";
    case Phase::kLingering:
      return "ending";
    case Phase::kDone:
      return "done";
  }
  return "unknown";
}

Chief::Chief(ChiefOptions options, ChiefOutput& output)
    : options_(std::move(options)),
      output_(output),
      membership_(options_),
      rdma_(options_),
      progress_(options_.start_step, options_.max_steps, options_.log_step_count_steps),
      plan_(options_),
      stats_(ShardId{*options_.ps.begin()}) {}

Step Chief::last_step() const { return std::max(options_.max_steps, options_.start_step); }

void Chief::Start(absl::Time now) {
  started_ = now;
  phase_by_ = now + options_.start_deadline;
  next_missing_log_ = now + options_.missing_log_period;
  Advance(now);
}

void Chief::OnTick(absl::Time now) { Advance(now); }

wire::StatusReplyT Chief::OnStatusAsked(absl::Time now) {
  wire::StatusReplyT status = BuildStatus(now);
  status_asked_ = now;
  if (phase_ >= Phase::kLingering) watcher_by_.reset();
  Advance(now);
  return status;
}

void Chief::OnHeldUp(absl::Time now) {
  const absl::Time until = now + options_.lease / 2;
  membership_.HoldUntil(until);
  phase_by_ = std::max(phase_by_, until);  // what came meanwhile is still to be read
}

void Chief::OnCheckpointCommitted(const absl::Status& status, absl::Time now) {
  if (status.ok()) {
    plan_.OnCommitted(true);
    announce_saved_ = true;
    output_.Log(LogLevel::kInfo, absl::StrCat("saved checkpoint ", plan_.last_saved()->folder));
    TellActiveEvaluator();
  } else {
    last_save_failure_ =
        absl::StrCat("the commit of ", plan_.Waiting(), " failed: ", std::string(status.message()));
    plan_.OnCommitted(false);
    output_.Log(LogLevel::kError, absl::StrCat("no checkpoint was saved: ", last_save_failure_));
  }
  Advance(now);
}

void Chief::OnCheckpointMarkedFinal(const absl::Status& status, absl::Time now) {
  marking_final_ = false;
  if (status.ok()) {
    plan_.MarkSavedFinal();
    announce_saved_ = true;
    TellActiveEvaluator();
  } else {
    last_save_failure_ =
        absl::StrCat("checkpoint ", plan_.last_saved()->folder,
                     " could not be marked as final: ", std::string(status.message()));
  }
  Advance(now);
}

void Chief::OnStopRequested(const std::string& reason, absl::Time now) {
  BeginStopping(reason, now);
  Advance(now);
}

void Chief::Advance(absl::Time now) {
  if (phase_ == Phase::kDone) return;
  ExpireLeases(now);
  if (plan_.AbandonOverdue(now)) {
    last_save_failure_ = plan_.failure();
    output_.Log(LogLevel::kError, absl::StrCat("no checkpoint was saved: ", last_save_failure_));
  }
  if (phase_ <= Phase::kTraining) DecideOnRdma(now);
  if (phase_ < Phase::kLingering) {
    BroadcastView();
    if (evaluations_.ChooseActive(membership_)) TellActiveEvaluator();
  }
  LogProgress(now, false);
  for (Phase before = Phase::kDone; before != phase_;) {
    before = phase_;
    StepPhase(now);
  }
}

void Chief::StepPhase(absl::Time now) {
  if (now >= stop_by_ && phase_ >= Phase::kStopping && phase_ <= Phase::kSaving) {
    Fail(1,
         absl::StrCat("the job did not stop within its grace of ",
                      absl::FormatDuration(options_.grace), ": late was ", WhatIsLate()),
         now);
  }
  switch (phase_) {
    case Phase::kWaiting:
      return WaitForMembers(now);
    case Phase::kTraining:
    case Phase::kStopping:
      return Train(now);
    case Phase::kSettling:
      return Settle(now);
    case Phase::kSaving:
      return SaveLast(now);
    case Phase::kEvaluating:
      return EvaluateLast(now);
    case Phase::kCollecting:
      return Collect(now);
    case Phase::kLingering:
      return Linger(now);
    case Phase::kDone:
      return;
  }
}

absl::Time Chief::next_deadline() const {
  if (phase_ == Phase::kDone) return absl::InfiniteFuture();
  absl::Time next = std::min(membership_.next_expiry(), phase_by_);
  if (watcher_by_.has_value()) next = std::min(next, *watcher_by_);
  if (phase_ == Phase::kWaiting) next = std::min({next, next_missing_log_, rdma_.next_look()});
  // Past saving, a stop only shortens what is left.
  if (phase_ <= Phase::kSaving) next = std::min({next, stop_by_, plan_.next_limit()});
  if (phase_ == Phase::kTraining) next = std::min(next, next_stats_);
  if (phase_ == Phase::kTraining && !progress_.max_reached() && plan_.idle()) {
    next = std::min(next, plan_.next_save());
  }
  return next;
}

void Chief::ExpireLeases(absl::Time now) {
  for (MemberId id : membership_.Expired(now)) {
    Lose(id,
         absl::StrCat("it was silent for ",
                      absl::StrFormat("%.1f s", absl::ToDoubleSeconds(options_.lease))),
         now);
  }
}

void Chief::DecideOnRdma(absl::Time now) {
  if (const auto news = rdma_.Look(membership_, now)) output_.Log(LogLevel::kInfo, *news);
}

void Chief::BroadcastView() {
  if (membership_.view() == sent_view_) return;
  sent_view_ = membership_.view();
  wire::ViewChangedT changed;
  changed.view = std::make_unique<wire::ViewT>(membership_.BuildView());
  SendToAll(changed);
}

void Chief::TellActiveEvaluator() {
  evaluations_.ChooseActive(membership_);
  if (!announce_saved_ || !evaluations_.active().has_value()) return;
  wire::CheckpointSavedT saved;
  saved.checkpoint = plan_.last_saved()->folder;
  saved.step = plan_.last_saved()->step.value();
  saved.is_final = plan_.last_saved()->is_final;
  SendTo(*evaluations_.active(), std::move(saved));
}

void Chief::LogProgress(absl::Time now, bool at_end) {
  if (const auto line = progress_.TakeLogLine(now, at_end)) output_.Log(LogLevel::kInfo, *line);
}

}  // namespace weir::chief
