#include "tests/simulation/job_checker.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "chief/logic/chief_options.h"

namespace weir::sim {
namespace {

using chief::Phase;

// What the network and the disk may add to a bound.
constexpr absl::Duration kSlack = absl::Seconds(2);
// Of a member that leaves (Session::Leave), and of docs/failure-model.md: lease + 2 s.
constexpr absl::Duration kLeave = absl::Seconds(2);

struct Process {
  TaskLife who;
  bool killed = false;
  std::optional<TaskEnded> ended;
  bool was_frozen = false;
  absl::Time frozen_until = absl::InfinitePast();
  absl::Time gone_since = absl::InfiniteFuture();  // killed, or ended
  bool stopped = false;
  bool cut = false;
  ProcessId chief = kNoProcess;  // that it opened a session with
  bool dropped = false;
  std::optional<int> end_heard;
  bool missed_chief = false;
  bool end_unheard = false;
  absl::Time end_by = absl::InfiniteFuture();  // by what has happened so far
  ViewNumber view;
  absl::Time heard = absl::InfinitePast();  // by its chief
};

struct RunState {
  Phase phase = Phase::kWaiting;
  absl::Time since;
  absl::Duration frozen;  // of its chief, altogether
  absl::Time leases_held = absl::InfinitePast();
  std::optional<RunFinished> finished;
  ViewNumber view;
  std::set<TaskLife> live;
  std::set<TaskLife> gone;
  bool lost_ps = false;
  wire::RdmaUse rdma = wire::RdmaUse::Undecided;  // what its first member was made for
};

class JobRules {
 public:
  explicit JobRules(const Scenario& scenario) : s_(scenario) {}

  void Check(const JobEvent& event) {
    event_ = &event;
    now_ = event.at;
    std::visit(*this, event.what);
  }

  void operator()(const TaskStarted& e) { processes_[e.process].who = e.who; }

  void operator()(const TaskHit& e) {
    Process& process = processes_[e.process];
    hit_ = true;
    switch (e.kind) {
      case FaultKind::kKill:
        process.killed = true;
        OnDeath(e.process);
        break;
      case FaultKind::kFreeze:
        process.was_frozen = true;
        process.frozen_until = e.until;
        if (const auto run = runs_.find(e.process); run != runs_.end()) {
          run->second.frozen += e.until - now_;
        }
        // Whatever was to be heard within a time may now wait for the thaw.
        for (auto& [id, other] : processes_) {
          if (id == e.process || other.chief == e.process) Postpone(other, e.until);
        }
        break;
      case FaultKind::kStop:
        process.stopped = true;
        break;
      case FaultKind::kCut:
        process.cut = true;
        break;
    }
  }

  void operator()(const TaskEnded& e) {
    Process& process = processes_[e.process];
    process.ended = e;
    if (now_ > process.end_by) {
      Fail(Rule::kEveryoneEnds,
           absl::StrCat("it should have by ", absl::FormatDuration(now_ - process.end_by),
                        " earlier"));
    }
    CheckExitCode(process, e);
    const auto run = runs_.find(e.process);
    if (run != runs_.end() && !run->second.finished.has_value()) {
      Fail(Rule::kEndWaits, "its run had not ended");
    }
    OnDeath(e.process);
  }

  void operator()(const RunStarted& e) {
    RunState& run = runs_[e.chief];
    run.since = now_;
    newest_chief_ = e.chief;
    const Step newest = committed_.empty() ? Step(0) : *committed_.rbegin();
    if (!e.intact) Fail(Rule::kResume, "the files have changed since the commit");
    if (e.resumed != newest) {
      Fail(Rule::kResume, absl::StrCat("the newest checkpoint is that of step ", newest.value()));
    }
  }

  void operator()(const PhaseEntered& e) {
    RunState& run = runs_[e.chief];
    if (e.phase == run.phase) return;
    if (now_ > run.since + Bound(run.phase) + run.frozen + kSlack) {
      Fail(Rule::kEveryoneEnds, absl::StrCat("it was ", PhaseText(run.phase), " for ",
                                             absl::FormatDuration(now_ - run.since)));
    }
    if (e.phase < run.phase) Fail(Rule::kEveryoneEnds, "a phase comes back");
    run.phase = e.phase;
    run.since = now_;
  }

  void operator()(const RunFinished& e) {
    RunState& run = runs_[e.chief];
    run.finished = e;
    const bool failed_disk = s_.disk_error > 0;
    if (e.exit_code != 0 && !hit_ && !failed_disk) Fail(Rule::kExitCodes, "nothing had gone wrong");
    if (e.exit_code == 1 && !failed_disk && !WasStopped()) {
      Fail(Rule::kExitCodes, "the disk is good, and nobody asked to stop");
    }
    if (e.exit_code != 0 && e.exit_code != 1 && e.exit_code != 4) {
      Fail(Rule::kExitCodes, "not a code of the chief's");
    }
    if (run.lost_ps && e.exit_code != 4 && e.exit_code != 1) {
      Fail(Rule::kExitCodes, "a ps was lost while it was needed");
    }
    // Nobody who is in is left behind, but for those who do not answer until the linger is over.
    const absl::Duration least = e.exit_code != 0 ? chief::ChiefOptions().failure_linger
                                 : WasStopped()   ? chief::ChiefOptions().stop_linger
                                                  : s_.end_linger;
    if (now_ >= run.since + least) return;
    for (const auto& [id, process] : processes_) {
      const bool there = process.chief == e.chief && !process.killed && !process.ended &&
                         !process.dropped && run.live.contains(process.who);
      if (there && !process.end_heard && !process.missed_chief && !process.stopped) {
        Fail(Rule::kEndWaits, absl::StrCat("process ", id, " has not heard of it"));
      }
    }
  }

  void operator()(const MemberOpened& e) {
    Process& process = processes_[e.process];
    process.chief = e.chief;
    process.heard = now_;
  }
  void operator()(const MemberHeard& e) { processes_[e.process].heard = now_; }
  void operator()(const LeasesHeld& e) { runs_[e.chief].leases_held = e.until; }

  void operator()(const MemberDropped& e) {
    Process& process = processes_[e.process];
    process.dropped = true;
    if (process.who.task.role == wire::Role::Ps) OnPsDropped(e);
    if (!e.silent) return;
    if (now_ - process.heard < s_.lease) Fail(Rule::kLease, "it was heard within the lease");
    if (now_ < runs_[e.chief].leases_held) Fail(Rule::kLease, "leases were held");
    const bool suspect = process.killed || process.ended || process.was_frozen || process.cut ||
                         processes_[e.chief].was_frozen;
    if (!suspect) Fail(Rule::kLease, "it and the chief ran all the time");
  }

  void operator()(const ViewPublished& e) {
    RunState& run = runs_[e.chief];
    if (e.view <= run.view) Fail(Rule::kViews, "not a higher number");
    run.view = e.view;
    const std::set<TaskLife> live(e.live.begin(), e.live.end());
    for (const TaskLife& life : run.live) {
      if (!live.contains(life)) run.gone.insert(life);
    }
    for (const TaskLife& life : live) {
      if (run.gone.contains(life)) {
        Fail(Rule::kNoReturn, absl::StrCat(ToString(life), " was gone before"));
      }
    }
    run.live = live;
  }

  void operator()(const ViewTaken& e) {
    Process& process = processes_[e.process];
    if (e.view <= process.view) Fail(Rule::kViews, "it had a newer one");
    process.view = e.view;
    if (e.rdma == wire::RdmaUse::Undecided) return;
    wire::RdmaUse& of_run = runs_[process.chief].rdma;
    if (of_run == wire::RdmaUse::Undecided) of_run = e.rdma;
    if (of_run != e.rdma) Fail(Rule::kOnePath, "others of its run are not as it is");
  }

  void operator()(const EndHeard& e) {
    Process& process = processes_[e.process];
    process.end_heard = e.exit_code;
    EndBy(process, now_ + kLeave);
    const auto run = runs_.find(process.chief);
    if (run == runs_.end() || run->second.phase < Phase::kLingering) {
      Fail(Rule::kEndWaits, "the run has not come to its end");
    }
  }

  void operator()(const EndUnheard& e) { processes_[e.process].end_unheard = true; }
  void operator()(const ChiefMissed& e) {
    processes_[e.process].missed_chief = true;
    EndBy(processes_[e.process], now_ + kLeave);
  }

  void operator()(const CheckpointCommitted& e) {
    if (!e.whole) Fail(Rule::kCheckpointWhole, "a shard's file is missing, or of another run");
    if (!ever_committed_.insert(e.step).second || e.step != *ever_committed_.rbegin()) {
      Fail(Rule::kCheckpointsAdvance, "there was one of that step, or of a later one");
    }
    const Process& committer = processes_[e.chief];
    if (e.chief != newest_chief_ || committer.killed || committer.ended) {
      Fail(Rule::kOneCommitter, "that chief is over");
    }
    committed_.insert(e.step);
    if (e.is_final) OnFinal(e.step);
  }
  void operator()(const CheckpointMarkedFinal& e) { OnFinal(e.step); }

  void operator()(const CheckpointPruned& e) {
    if (committed_.empty() || e.step == *committed_.rbegin()) {
      Fail(Rule::kPruning, "it is the newest");
    }
    committed_.erase(e.step);
    if (s_.keep_checkpoint_max == 0 ||
        committed_.size() < static_cast<std::size_t>(s_.keep_checkpoint_max)) {
      Fail(Rule::kPruning, "it was to be kept");
    }
  }

  std::vector<Violation> Finish(absl::Time end) {
    for (const auto& [id, process] : processes_) {
      if (process.killed || process.ended) continue;
      Add(Rule::kEveryoneEnds,
          absl::StrCat("process ", id, " (", ToString(process.who), ") never ended, by ",
                       absl::FormatDuration(end - absl::UnixEpoch())));
    }
    if (!final_.has_value()) {
      Add(Rule::kFinalMark, "the job has no final checkpoint");
    } else if (s_.release_early == 0 && *final_ != s_.max_steps) {
      Add(Rule::kFinalMark, absl::StrCat("the final checkpoint is of step ", final_->value()));
    }
    return std::move(violations_);
  }

 private:
  bool WasStopped() const {
    return std::ranges::any_of(processes_, [](const auto& entry) { return entry.second.stopped; });
  }

  void EndBy(Process& process, absl::Time when) {
    process.end_by =
        std::min(process.end_by, std::max(when, process.frozen_until + kLeave) + kSlack);
  }
  void Postpone(Process& process, absl::Time until) {
    if (process.end_by == absl::InfiniteFuture()) return;
    process.end_by = std::max(process.end_by, until + s_.lease * 1.5 + kLeave + kSlack);
  }

  // docs/failure-model.md: whoever depends on it ends within a lease and 2 s.
  void OnDeath(ProcessId id) {
    Process& dead = processes_[id];
    if (dead.who.task.role == wire::Role::Chief) {
      for (auto& [other_id, other] : processes_) {
        if (other.chief == id && !other.killed && !other.ended) {
          EndBy(other, now_ + s_.lease + kLeave);
        }
      }
    }
    if (dead.gone_since == absl::InfiniteFuture()) dead.gone_since = now_;
  }

  // A ps that is lost while it is needed takes the job with it.
  void OnPsDropped(const MemberDropped& e) {
    RunState& run = runs_[e.chief];
    const Process& leader = processes_[e.chief];
    const Process& ps = processes_[e.process];
    const absl::Time noticed_by =
        std::max(ps.gone_since, leader.frozen_until + s_.lease / 2) + s_.lease + kSlack;
    if (now_ > noticed_by) Fail(Rule::kEveryoneEnds, "it was not noticed within a lease");
    const bool needed = run.phase >= Phase::kTraining && run.phase <= Phase::kSaving;
    if (!needed || !run.live.contains(ps.who)) return;
    run.lost_ps = true;
    for (auto& [id, other] : processes_) {
      const bool concerned = id == e.chief || other.chief == e.chief;
      if (concerned && !other.killed && !other.ended) EndBy(other, now_ + kLeave);
    }
  }

  void CheckExitCode(const Process& process, const TaskEnded& e) {
    const int code = e.exit_code;
    if (process.who.task.role == wire::Role::Chief) {
      const auto run = runs_.find(e.process);
      if (run != runs_.end() && run->second.finished && run->second.finished->exit_code != code) {
        Fail(Rule::kExitCodes, "its run ended otherwise");
      }
      return;
    }
    if (process.end_heard.has_value()) {
      if (code != *process.end_heard) Fail(Rule::kExitCodes, "it was told another code");
    } else if (process.missed_chief) {
      if (code != 4) Fail(Rule::kExitCodes, "it lost its chief");
    } else if (code != 0 && !hit_ && s_.disk_error == 0 && !(code == 4 && process.end_unheard)) {
      Fail(Rule::kExitCodes, "nothing had gone wrong");
    } else if (code == 1 && process.chief != kNoProcess && !process.dropped) {
      Fail(Rule::kExitCodes, "it is not fenced, and nobody told it that the job failed");
    }
  }

  // How long a run may be in a phase, by docs/failure-model.md and ChiefOptions.
  absl::Duration Bound(Phase phase) const {
    const chief::ChiefOptions defaults;
    switch (phase) {
      case Phase::kWaiting:
        return s_.start_deadline;
      case Phase::kTraining:
        return absl::InfiniteDuration();
      case Phase::kStopping:
        return s_.grace;
      case Phase::kSettling:
      case Phase::kCollecting:
        return defaults.answer_limit;
      case Phase::kSaving:
        return defaults.checkpoint_limit * 2;
      case Phase::kEvaluating:
        return s_.end_linger * (s_.workers + s_.evaluators);
      case Phase::kLingering:
        return s_.end_linger;
      case Phase::kDone:
        break;
    }
    return absl::InfiniteDuration();
  }

  void OnFinal(Step step) {
    final_ = step;
    if (step > s_.max_steps || (s_.release_early == 0 && step != s_.max_steps)) {
      Fail(Rule::kFinalMark, absl::StrCat("the job has ", s_.max_steps.value(), " steps"));
    }
  }

  void Fail(Rule rule, absl::string_view why) {
    Add(rule, absl::StrCat(ToString(*event_), ": ", why));
  }
  void Add(Rule rule, std::string what) {
    const auto same = [&](const Violation& v) { return v.rule == rule; };
    if (std::ranges::none_of(violations_, same)) violations_.push_back({rule, std::move(what)});
  }

  const Scenario& s_;
  const JobEvent* event_ = nullptr;
  absl::Time now_;
  std::vector<Violation> violations_;
  std::map<ProcessId, Process> processes_;
  std::map<ProcessId, RunState> runs_;  // by chief
  ProcessId newest_chief_ = kNoProcess;
  std::set<Step> ever_committed_;
  std::set<Step> committed_;  // and not pruned
  std::optional<Step> final_;
  bool hit_ = false;
};

}  // namespace

std::vector<Violation> CheckJob(const JobHistory& history, const Scenario& scenario,
                                absl::Time end) {
  JobRules checker(scenario);
  for (const JobEvent& event : history) checker.Check(event);
  return checker.Finish(end);
}

bool JobReachedMax(const JobHistory& history, ProcessId chief, const Scenario& scenario) {
  return std::ranges::any_of(history, [&](const JobEvent& event) {
    const auto* committed = std::get_if<CheckpointCommitted>(&event.what);
    return committed != nullptr && committed->chief == chief &&
           committed->step == scenario.max_steps;
  });
}

}  // namespace weir::sim
