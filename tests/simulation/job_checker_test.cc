#include "tests/simulation/job_checker.h"

#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::sim {
namespace {

using chief::Phase;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ProcessId kChief = 1;
constexpr ProcessId kPs = 2;
constexpr ProcessId kWorker = 3;
constexpr ProcessId kNextChief = 4;
constexpr TaskLife kChiefLife{{wire::Role::Chief, 0}, Incarnation(11)};
constexpr TaskLife kPsLife{{wire::Role::Ps, 0}, Incarnation(12)};
constexpr TaskLife kWorkerLife{{wire::Role::Worker, 0}, Incarnation(13)};

/// A job of one ps, one worker and two steps, which is right; each test breaks one rule.
class JobCheckerTest : public ::testing::Test {
 protected:
  JobCheckerTest() {
    scenario_.max_steps = Step(2);
    scenario_.lease = absl::Seconds(1);
    scenario_.start_deadline = absl::Seconds(30);
    scenario_.end_linger = absl::Seconds(10);
    scenario_.grace = absl::Seconds(10);
    scenario_.keep_checkpoint_max = 1;
    // An event every 10 ms.
    Add(TaskStarted{kChief, kChiefLife});                               // 0
    Add(TaskStarted{kPs, kPsLife});                                     // 1
    Add(TaskStarted{kWorker, kWorkerLife});                             // 2
    Add(RunStarted{kChief, Step(0)});                                   // 3
    Add(PhaseEntered{kChief, Phase::kWaiting});                         // 4
    Add(MemberOpened{kChief, kPs});                                     // 5
    Add(ViewPublished{kChief, ViewNumber(1), {kPsLife}});               // 6
    Add(ViewTaken{kPs, ViewNumber(1)});                                 // 7
    Add(MemberOpened{kChief, kWorker});                                 // 8
    Add(ViewPublished{kChief, ViewNumber(2), {kPsLife, kWorkerLife}});  // 9
    Add(ViewTaken{kPs, ViewNumber(2)});                                 // 10
    Add(PhaseEntered{kChief, Phase::kTraining});                        // 11
    Add(CheckpointCommitted{kChief, Step(1), false, true});             // 12
    Add(PhaseEntered{kChief, Phase::kSaving});                          // 13
    Add(CheckpointCommitted{kChief, Step(2), true, true});              // 14
    Add(CheckpointPruned{Step(1)});                                     // 15
    Add(PhaseEntered{kChief, Phase::kLingering});                       // 16
    Add(EndHeard{kPs, 0});                                              // 17
    Add(EndHeard{kWorker, 0});                                          // 18
    Add(TaskEnded{kPs, 0, ""});                                         // 19
    Add(TaskEnded{kWorker, 0, ""});                                     // 20
    Add(RunFinished{kChief, 0, ""});                                    // 21
    Add(TaskEnded{kChief, 0, ""});                                      // 22
  }

  template <typename What>
  void Add(What what) {
    history_.push_back({After(static_cast<int>(history_.size()) * 10), std::move(what)});
  }
  static absl::Time After(int milliseconds) {
    return absl::UnixEpoch() + absl::Milliseconds(milliseconds);
  }
  template <typename What>
  void Insert(std::size_t at, What what) {
    const absl::Time when = history_[at].at;
    history_.insert(history_.begin() + static_cast<std::ptrdiff_t>(at), {when, std::move(what)});
  }
  template <typename What>
  void Replace(std::size_t at, What what) {
    history_[at].what = std::move(what);
  }
  void Erase(std::size_t at) { history_.erase(history_.begin() + static_cast<std::ptrdiff_t>(at)); }
  void DelayFrom(std::size_t at, absl::Duration by) {
    for (; at < history_.size(); ++at) history_[at].at += by;
  }
  std::set<Rule> Broken() const {
    std::set<Rule> rules;
    for (const Violation& v : CheckJob(history_, scenario_, After(1000))) rules.insert(v.rule);
    return rules;
  }

  Scenario scenario_;
  JobHistory history_;
};

TEST_F(JobCheckerTest, TheRightHistoryBreaksNothing) { EXPECT_THAT(Broken(), IsEmpty()); }

TEST_F(JobCheckerTest, AProcessThatNeverEnds) {
  Erase(20);
  EXPECT_THAT(Broken(), ElementsAre(Rule::kEveryoneEnds));
}

TEST_F(JobCheckerTest, AProcessThatTakesTooLongToLeave) {
  DelayFrom(20, absl::Seconds(7));
  EXPECT_THAT(Broken(), ElementsAre(Rule::kEveryoneEnds));
}

TEST_F(JobCheckerTest, AProcessThatOutlivesItsChief) {
  Insert(12, TaskHit{kChief, FaultKind::kKill, {}});
  history_.resize(13);
  Add(ChiefMissed{kPs});
  Add(TaskEnded{kPs, 4, ""});
  Add(ChiefMissed{kWorker});
  Add(TaskEnded{kWorker, 4, ""});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kFinalMark)) << "nobody started the job again";
  DelayFrom(14, absl::Seconds(6));
  EXPECT_THAT(Broken(), ElementsAre(Rule::kEveryoneEnds, Rule::kFinalMark));
}

TEST_F(JobCheckerTest, APhaseThatTakesTooLong) {
  DelayFrom(11, absl::Seconds(40));
  EXPECT_THAT(Broken(), ElementsAre(Rule::kEveryoneEnds));
}

TEST_F(JobCheckerTest, ExitCodes) {
  Replace(20, TaskEnded{kWorker, 4, ""});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kExitCodes)) << "it was told 0";
  Replace(18, EndUnheard{kWorker});
  EXPECT_THAT(Broken(), IsEmpty()) << "but never heard";
  Replace(20, TaskEnded{kWorker, 1, ""});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kExitCodes));
}

TEST_F(JobCheckerTest, AFailureWithoutACause) {
  Replace(21, RunFinished{kChief, 4, ""});
  Replace(22, TaskEnded{kChief, 4, ""});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kExitCodes));
}

TEST_F(JobCheckerTest, ALostPsThatIsNotTold) {
  Insert(12, TaskHit{kPs, FaultKind::kKill, {}});
  EXPECT_THAT(Broken(), IsEmpty()) << "the chief never knew";
  Insert(13, MemberDropped{kChief, kPs, false});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kExitCodes)) << "the run ends well all the same";
  history_[13].at += absl::Seconds(20);
  DelayFrom(14, absl::Seconds(20));
  EXPECT_THAT(Broken(), ElementsAre(Rule::kEveryoneEnds, Rule::kExitCodes));
}

TEST_F(JobCheckerTest, ACheckpointThatIsNotWhole) {
  Replace(12, CheckpointCommitted{kChief, Step(1), false, false});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kCheckpointWhole));
}

TEST_F(JobCheckerTest, ACheckpointOfAnEarlierStep) {
  Insert(16, CheckpointCommitted{kChief, Step(1), false, true});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kCheckpointsAdvance));
}

TEST_F(JobCheckerTest, ACommitOfADeadChief) {
  Insert(12, TaskHit{kChief, FaultKind::kKill, {}});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kOneCommitter));
  history_[12].what = RunStarted{kNextChief, Step(0)};
  EXPECT_THAT(Broken(), ElementsAre(Rule::kOneCommitter)) << "another leads";
}

TEST_F(JobCheckerTest, TheFinalMark) {
  Replace(14, CheckpointCommitted{kChief, Step(2), false, true});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kFinalMark));
  Insert(15, CheckpointMarkedFinal{Step(2)});
  EXPECT_THAT(Broken(), IsEmpty());
}

TEST_F(JobCheckerTest, AFinalMarkBeforeTheLastStep) {
  Replace(12, CheckpointCommitted{kChief, Step(1), true, true});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kFinalMark));
}

TEST_F(JobCheckerTest, ARunThatForgets) {
  Insert(13, TaskStarted{kNextChief, {{wire::Role::Chief, 0}, Incarnation(14)}});
  Insert(14, RunStarted{kNextChief, Step(0)});
  const std::set<Rule> broken = Broken();
  EXPECT_TRUE(broken.contains(Rule::kResume));
}

TEST_F(JobCheckerTest, ARunThatReadsSomethingElse) {
  Replace(3, RunStarted{kChief, Step(0), false});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kResume));
}

TEST_F(JobCheckerTest, Pruning) {
  Replace(15, CheckpointPruned{Step(2)});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kPruning)) << "the newest";
  Replace(15, CheckpointPruned{Step(1)});
  scenario_.keep_checkpoint_max = 2;
  EXPECT_THAT(Broken(), ElementsAre(Rule::kPruning)) << "one of two to keep";
}

TEST_F(JobCheckerTest, ViewsThatDoNotGrow) {
  Insert(11, ViewTaken{kPs, ViewNumber(1)});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kViews));
  Replace(11, ViewPublished{kChief, ViewNumber(2), {kPsLife, kWorkerLife}});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kViews));
}

TEST_F(JobCheckerTest, MembersOfOneRunOnDifferentPaths) {
  Replace(7, ViewTaken{kPs, ViewNumber(1), wire::RdmaUse::Used});
  Insert(10, ViewTaken{kWorker, ViewNumber(2), wire::RdmaUse::Used});
  EXPECT_THAT(Broken(), IsEmpty());
  Replace(10, ViewTaken{kWorker, ViewNumber(2), wire::RdmaUse::Unused});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kOnePath));
}

TEST_F(JobCheckerTest, AMemberThatComesBack) {
  Insert(16, ViewPublished{kChief, ViewNumber(3), {kPsLife}});
  EXPECT_THAT(Broken(), IsEmpty());
  Insert(17, ViewPublished{kChief, ViewNumber(4), {kPsLife, kWorkerLife}});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kNoReturn));
}

TEST_F(JobCheckerTest, Leases) {
  Insert(16, MemberDropped{kChief, kWorker, true});
  EXPECT_THAT(Broken(), ElementsAre(Rule::kLease)) << "heard 80 ms before";
  Replace(16, MemberDropped{kChief, kWorker, false});
  EXPECT_THAT(Broken(), IsEmpty());
}

TEST_F(JobCheckerTest, AnEndThatDoesNotWait) {
  Erase(21);
  EXPECT_THAT(Broken(), ElementsAre(Rule::kEndWaits)) << "the chief leaves a run that goes on";
}

TEST_F(JobCheckerTest, AnEndThatLeavesSomebodyBehind) {
  std::swap(history_[20].what, history_[21].what);
  EXPECT_THAT(Broken(), IsEmpty()) << "it has heard";
  Erase(18);
  EXPECT_THAT(Broken(), ElementsAre(Rule::kEndWaits));
}

}  // namespace
}  // namespace weir::sim
