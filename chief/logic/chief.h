#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "chief/logic/checkpoint_plan.h"
#include "chief/logic/chief_options.h"
#include "chief/logic/chief_output.h"
#include "chief/logic/end_of_job.h"
#include "chief/logic/evaluations.h"
#include "chief/logic/membership.h"
#include "chief/logic/progress.h"
#include "chief/logic/rdma_choice.h"
#include "chief/logic/run_stats.h"
#include "chief/logic/summary_data.h"
#include "common/base/ids.h"
#include "schemas/chief_generated.h"

namespace weir::chief {

/// A job's life. The end runs through saving, evaluating and collecting, each bounded in time; a
/// failure leads from anywhere to lingering.
enum class Phase {
  kWaiting,     ///< for all ps and one worker
  kTraining,    ///< workers take steps
  kStopping,    ///< told to stop; workers end their step
  kSettling,    ///< no worker takes steps: asks the step counter for the exact step
  kSaving,      ///< the last checkpoint
  kEvaluating,  ///< the last evaluation
  kCollecting,  ///< the shards' statistics
  kLingering,   ///< everybody was told the end; waits for goodbyes
  kDone,
};

absl::string_view PhaseText(Phase phase);

/// The logic of the chief: who is in, when to save, when the job ends and how. No I/O, no clock,
/// no threads: events come in with their time, actions go out through ChiefOutput.
/// Messages have passed the Verifier; every value is checked here, and a member that sends nonsense
/// loses its session, never the chief.
class Chief {
 public:
  /// `output` outlives the chief. Options are those of a checked cluster: ps and workers not empty.
  Chief(ChiefOptions options, ChiefOutput& output);
  Chief(const Chief&) = delete;
  Chief& operator=(const Chief&) = delete;

  /// The first event. Times never go back from here.
  void Start(absl::Time now);

  wire::JoinReplyT OnJoin(const wire::JoinRequestT& request, absl::Time now);
  /// `first` names the member; its body, where it has one, counts as its first message.
  void OnSessionOpened(SessionId session, const wire::MemberMessageT& first, absl::Time now);
  void OnMessage(SessionId session, const wire::MemberMessageT& message, absl::Time now);
  /// The stream ended; `how` ("its process ended") stands in the error if there was no goodbye.
  void OnSessionClosed(SessionId session, const std::string& how, absl::Time now);
  void OnCheckpointCommitted(const absl::Status& status, absl::Time now);
  void OnCheckpointMarkedFinal(const absl::Status& status, absl::Time now);
  void OnStopRequested(const std::string& reason, absl::Time now);
  void OnTick(absl::Time now);
  /// The chief itself did not run for a good part of a lease (a stopped process, a stalled
  /// machine): what members sent meanwhile is still to be read. Nobody is lost, and no phase runs
  /// out, for another half.
  void OnHeldUp(absl::Time now);

  /// When OnTick is due if nothing happens before.
  absl::Time next_deadline() const;

  Phase phase() const { return phase_; }
  wire::StatusReplyT BuildStatus(absl::Time now) const;
  /// The same, for one who watches: who asks again and again is told that the job ends well before
  /// the chief goes (ChiefOptions::watcher_patience).
  wire::StatusReplyT OnStatusAsked(absl::Time now);
  Summary BuildSummary(absl::Time now) const;

 private:
  // Each event ends with Advance, which draws all conclusions.
  void Advance(absl::Time now);
  void StepPhase(absl::Time now);
  void ExpireLeases(absl::Time now);
  void DecideOnRdma(absl::Time now);
  void BroadcastView();
  void TellActiveEvaluator();
  void LogProgress(absl::Time now, bool at_end);

  // Members come and go (chief_members.cc).
  std::string AnswerAfterTraining(const wire::JoinRequestT& request,
                                  wire::JoinOutcome* outcome) const;
  void DismissMismatchedWorkers();
  void Lose(MemberId id, const std::string& how, absl::Time now);
  void OnPsGone(const MemberRecord& ps, const std::string& what, absl::Time now);
  void Dispatch(const MemberRecord& from, const wire::MemberMessageT& message, absl::Time now);
  void OnCheckpointDone(const MemberRecord& from, const wire::CheckpointDoneT& done,
                        absl::Time now);
  void OnEvaluationDone(const MemberRecord& from, const wire::EvaluationDoneT& done,
                        absl::Time now);
  void OnFinished(const MemberRecord& from, const wire::FinishedT& finished);
  void OnGoodbye(const MemberRecord& from, const wire::GoodbyeT& goodbye, absl::Time now);
  void OnStats(ShardId shard, const wire::ShardStatsT& stats);

  // The phases (chief_phases.cc).
  void WaitForMembers(absl::Time now);
  std::string WhoIsMissing() const;
  void Train(absl::Time now);
  void Settle(absl::Time now);
  void SaveLast(absl::Time now);
  void EvaluateLast(absl::Time now);
  void Collect(absl::Time now);
  void Linger(absl::Time now);
  void BeginStopping(const std::string& reason, absl::Time now);
  void BeginSettling(EndOfJob::Verdict verdict, absl::Time now);
  void BeginCollecting(absl::Time now);
  void BeginCheckpoint(bool is_final, absl::Time now);
  void PollStats(absl::Time now);
  void AskForStats(std::uint32_t ps);
  std::vector<std::uint32_t> PsThatOweStats() const;
  void EndJob(int exit_code, const std::string& reason, absl::Duration linger, absl::Time now);
  void Fail(int exit_code, const std::string& reason, absl::Time now);
  std::string WhatIsLate() const;

  template <typename Message>
  void SendTo(MemberId id, Message message);
  template <typename Message>
  void SendToAll(const Message& message);
  std::uint32_t counter_ps() const { return *options_.ps.begin(); }
  Step last_step() const;
  bool stopping() const { return stop_by_ != absl::InfiniteFuture(); }
  bool needs_ps() const { return phase_ >= Phase::kTraining && phase_ <= Phase::kSaving; }

  const ChiefOptions options_;
  ChiefOutput& output_;
  Membership membership_;
  RdmaChoice rdma_;
  Progress progress_;
  CheckpointPlan plan_;
  Evaluations evaluations_;
  EndOfJob end_;
  RunStats stats_;

  Phase phase_ = Phase::kWaiting;
  absl::Time started_ = absl::InfinitePast();
  absl::Time next_missing_log_ = absl::InfiniteFuture();
  absl::Time next_stats_ = absl::InfiniteFuture();
  absl::Time stop_by_ = absl::InfiniteFuture();   // set once the job is being stopped
  absl::Time phase_by_ = absl::InfiniteFuture();  // bounds settling to lingering
  ViewNumber sent_view_;
  std::string stop_reason_;
  EndOfJob::Verdict verdict_ = EndOfJob::Verdict::kGoesOn;
  bool complete_ = false;         // not stopped before the end
  bool last_save_begun_ = false;  // or found unneeded
  bool marking_final_ = false;    // until OnCheckpointMarkedFinal
  bool announce_saved_ = false;   // the evaluator should know of the last saved one
  std::string last_save_failure_;
  // Stats that a ps owes, one a shard for each SendStats: a shard's come in order, so that at 0 the
  // newest are in.
  std::map<std::uint32_t, int> unanswered_;
  std::optional<MemberId> evaluating_;  // whom the last evaluation waits for
  bool wait_for_unseen_ = false;        // lingering: also for listed tasks that never came
  absl::Time status_asked_ = absl::InfinitePast();
  std::optional<absl::Time> watcher_by_;  // lingering: for one who watches, until then
  int exit_code_ = 0;
  std::string end_reason_;
  absl::Time finished_at_ = absl::InfiniteFuture();
};

template <typename Message>
void Chief::SendTo(MemberId id, Message message) {
  const MemberRecord* record = membership_.Find(id);
  if (record == nullptr || record->state != MemberState::kLive) return;
  wire::ChiefMessageT envelope;
  envelope.body.Set(std::move(message));
  output_.Send(record->session, std::move(envelope));
}

template <typename Message>
void Chief::SendToAll(const Message& message) {
  for (const MemberRecord* record : membership_.Live()) SendTo(record->id, message);
}

}  // namespace weir::chief
