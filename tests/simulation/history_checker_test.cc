#include "tests/simulation/history_checker.h"

#include <algorithm>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/simulation/gradient.h"

namespace weir::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Life kA{WorkerIndex(0), Incarnation(11)};
constexpr Life kB{WorkerIndex(1), Incarnation(12)};
constexpr ShardIndex kShard{0};
constexpr BlockId kBlock{0};
constexpr float kRate = 0.5F;

/// A history of one block of two elements and one step, which is right; each test breaks one rule.
class HistoryCheckerTest : public ::testing::Test {
 protected:
  HistoryCheckerTest() : layout_(*Layout::Create({{"w", DType::kFloat32, {2}}}, 1)) {}

  // The values after the pushes of kA with these sequences.
  static std::vector<float> After(const std::vector<std::uint64_t>& sequences) {
    std::vector<float> values = {InitialValue(kBlock, 0), InitialValue(kBlock, 1)};
    for (std::uint64_t s : sequences) {
      for (std::size_t i = 0; i < 2; ++i) {
        values[i] -= kRate * GradientOf(kA, Sequence(s), kBlock, i);
      }
    }
    return values;
  }

  static Event Start(Operation what, std::uint64_t sequence = 0, std::uint64_t step = 0,
                     Life who = kA) {
    return OperationStarted{who, what, Sequence(sequence), Step(step)};
  }
  static Event End(Operation what, absl::Status status = {}, Life who = kA) {
    return OperationEnded{who, what, std::move(status)};
  }
  static Event Applied(std::uint64_t sequence, std::uint64_t version, Life who = kA) {
    return BlockApplied{kShard, kBlock, who, Sequence(sequence), Version(version)};
  }
  static Event Delivered(std::uint64_t version, std::vector<float> values) {
    return PullDelivered{kA, kBlock, Version(version), std::move(values)};
  }

  static Event ReadInPlace(std::uint32_t view, Life who = kA) {
    return MappedReadMade{who, kShard, ViewNumber(view)};
  }

  static History Right() {
    return {ShardTookView{kShard, ViewNumber(1), {kA}},
            Start(Operation::kTicket),
            End(Operation::kTicket),
            StepGranted{kA, Step(1)},
            Start(Operation::kPull),
            Delivered(0, After({})),
            End(Operation::kPull),
            Start(Operation::kPush, 1, 1),
            Applied(1, 1),
            End(Operation::kPush),
            StepCounted{kA, Step(1), Step(1)},
            Start(Operation::kPull),
            Delivered(1, After({1})),
            End(Operation::kPull),
            SnapshotBlock{kBlock, Version(1), After({1})},
            LevelReached{"pushes", 2, 2},
            FinalBlock{kBlock, After({1})}};
  }

  std::set<Rule> Broken(const History& history, bool stopped = false) {
    std::set<Rule> rules;
    for (const Violation& v : CheckHistory(history, {.layout = &layout_,
                                                    .learning_rate = kRate,
                                                    .start_step = Step(0),
                                                    .max_steps = Step(1),
                                                    .stopped = stopped})) {
      rules.insert(v.rule);
    }
    return rules;
  }
  // The right history with the event at `at` replaced.
  std::set<Rule> BrokenBy(std::size_t at, Event event) {
    History history = Right();
    history[at] = std::move(event);
    return Broken(history);
  }
  std::set<Rule> BrokenWithout(std::size_t at) {
    History history = Right();
    history.erase(history.begin() + static_cast<std::ptrdiff_t>(at));
    return Broken(history);
  }
  std::set<Rule> BrokenWith(std::size_t at, Event event) {
    History history = Right();
    history.insert(history.begin() + static_cast<std::ptrdiff_t>(at), std::move(event));
    return Broken(history);
  }

  const Layout layout_;
};

TEST_F(HistoryCheckerTest, TheRightHistoryBreaksNothing) {
  EXPECT_THAT(Broken(Right()), IsEmpty());
}

TEST_F(HistoryCheckerTest, AppliedTwice) {
  History history = Right();
  history.insert(history.begin() + 9, Applied(1, 2));
  history.back() = FinalBlock{kBlock, After({1, 1})};
  EXPECT_THAT(Broken(history), ElementsAre(Rule::kAppliedOnce));
}

TEST_F(HistoryCheckerTest, AcknowledgedButNotApplied) {
  History history = Right();
  history[8] = LevelReached{"nothing", 0, 0};
  history[12] = Delivered(0, After({}));
  history[14] = SnapshotBlock{kBlock, Version(0), After({})};
  history.back() = FinalBlock{kBlock, After({})};
  EXPECT_THAT(Broken(history), ElementsAre(Rule::kAcknowledged));
}

TEST_F(HistoryCheckerTest, MemoryIsReadInTheShardsViewByWhoIsInIt) {
  EXPECT_THAT(BrokenWith(5, ReadInPlace(1)), IsEmpty());
  EXPECT_THAT(BrokenWith(5, ReadInPlace(0)), ElementsAre(Rule::kMappedReads));
  EXPECT_THAT(BrokenWith(5, ReadInPlace(2)), ElementsAre(Rule::kMappedReads));
  EXPECT_THAT(BrokenWith(5, ReadInPlace(1, kB)), ElementsAre(Rule::kMappedReads));
}

TEST_F(HistoryCheckerTest, AVersionIsLeftOut) {
  EXPECT_THAT(BrokenBy(8, Applied(1, 2)), ElementsAre(Rule::kVersions, Rule::kReadsOwnWrites));
}

TEST_F(HistoryCheckerTest, AFencedLifeIsApplied) {
  EXPECT_THAT(BrokenBy(0, ShardTookView{kShard, ViewNumber(1), {kB}}), ElementsAre(Rule::kFenced));
  EXPECT_THAT(BrokenWith(8, ShardTookView{kShard, ViewNumber(2), {}}), ElementsAre(Rule::kFenced));
}

TEST_F(HistoryCheckerTest, TheFinalWeightsAreNotTheSum) {
  EXPECT_THAT(BrokenBy(16, FinalBlock{kBlock, After({})}), ElementsAre(Rule::kSerialSum));
}

TEST_F(HistoryCheckerTest, ATornPull) {
  std::vector<float> torn = After({1});
  torn[1] = After({})[1] + 0.25F;
  EXPECT_THAT(BrokenBy(12, Delivered(1, torn)), ElementsAre(Rule::kWholeBlocks));
  EXPECT_THAT(BrokenBy(12, Delivered(7, After({1}))), ElementsAre(Rule::kWholeBlocks));
}

TEST_F(HistoryCheckerTest, ASnapshotThatChanged) {
  EXPECT_THAT(BrokenBy(14, SnapshotBlock{kBlock, Version(0), After({1})}),
              ElementsAre(Rule::kWholeBlocks));
}

TEST_F(HistoryCheckerTest, APullFromBeforeTheOwnPush) {
  EXPECT_THAT(BrokenBy(12, Delivered(0, After({}))), ElementsAre(Rule::kReadsOwnWrites));
}

TEST_F(HistoryCheckerTest, APullWithoutOrWithTooManyBlocks) {
  EXPECT_THAT(BrokenWithout(5), ElementsAre(Rule::kPullComplete));
  EXPECT_THAT(BrokenWith(6, Delivered(0, After({}))), ElementsAre(Rule::kPullComplete));
  EXPECT_THAT(BrokenWith(7, Delivered(0, After({}))), ElementsAre(Rule::kPullComplete));
}

TEST_F(HistoryCheckerTest, Steps) {
  EXPECT_THAT(BrokenWithout(10), ElementsAre(Rule::kSteps)) << "the job ended early";
  EXPECT_THAT(BrokenWith(11, StepCounted{kA, Step(1), Step(2)}), ElementsAre(Rule::kSteps));
  EXPECT_THAT(BrokenBy(10, StepCounted{kA, Step(2), Step(1)}), ElementsAre(Rule::kSteps));
  EXPECT_THAT(BrokenBy(10, StepCounted{kA, Step(1), Step(0)}), ElementsAre(Rule::kSteps));
  EXPECT_THAT(BrokenBy(3, StepGranted{kA, Step(2)}), ElementsAre(Rule::kSteps));
  EXPECT_THAT(BrokenWith(11, StepGranted{kB, Step(1)}), ElementsAre(Rule::kSteps));
  EXPECT_THAT(BrokenBy(10, StepCounted{kB, Step(1), Step(1)}), ElementsAre(Rule::kSteps))
      << "whoever did not push it";
}

TEST_F(HistoryCheckerTest, AGrantMayReachALifeThatIsOver) {
  History history = Right();
  history.insert(history.begin() + 11, {LifeOver{kB}, StepGranted{kB, Step(1)}});
  EXPECT_THAT(Broken(history), IsEmpty());
}

TEST_F(HistoryCheckerTest, AStoppedJobMayEndEarly) {
  History history = Right();
  history.erase(history.begin() + 10);
  EXPECT_THAT(Broken(history, true), IsEmpty());
}

TEST_F(HistoryCheckerTest, AWaitThatDoesNotEnd) {
  EXPECT_THAT(BrokenWithout(13), ElementsAre(Rule::kEnds));
  EXPECT_THAT(BrokenBy(13, End(Operation::kPull, absl::DeadlineExceededError("late"))),
              ElementsAre(Rule::kEnds));
  EXPECT_THAT(BrokenWithout(1), ElementsAre(Rule::kEnds)) << "ended without a start";
  EXPECT_THAT(BrokenWith(2, Start(Operation::kTicket)), ElementsAre(Rule::kEnds));
}

TEST_F(HistoryCheckerTest, NobodyWaitsForTheDead) {
  History history = Right();
  history.insert(history.begin() + 13, LifeOver{kA});
  history.erase(history.begin() + 14);
  EXPECT_THAT(Broken(history), IsEmpty());
}

/// The same step tensor by tensor, with the pull of the next weights behind its push.
class StepByTensorTest : public HistoryCheckerTest {
 protected:
  static Event StartByTensor() {
    return OperationStarted{kA, Operation::kPush, Sequence(1), Step(1), true};
  }
  static Event Reads(std::uint64_t version) { return WeightsRead{kA, kBlock, Version(version)}; }
  static Event Makes(std::uint64_t sequence) {
    return GradientMade{kA, Sequence(sequence), kBlock};
  }
  static Event Sends(std::uint64_t sequence, std::uint64_t base) {
    return PushSent{kA, Sequence(sequence), kBlock, Version(base)};
  }

  static History Right() {
    return {ShardTookView{kShard, ViewNumber(1), {kA}},
            Start(Operation::kTicket),
            Start(Operation::kPull),
            End(Operation::kTicket),
            StepGranted{kA, Step(1)},
            StartByTensor(),
            Delivered(0, After({})),
            End(Operation::kPull),
            Start(Operation::kPull),
            Reads(0),
            Makes(1),
            Sends(1, 0),
            Applied(1, 1),
            Sends(1, 0),  // again
            Delivered(1, After({1})),
            End(Operation::kPush),
            End(Operation::kPull),
            StepCounted{kA, Step(1), Step(1)},
            FinalBlock{kBlock, After({1})}};
  }
  std::set<Rule> BrokenBy(std::size_t at, Event event) {
    History history = Right();
    history[at] = std::move(event);
    return Broken(history);
  }
  // The event at `from` came at `to` already.
  std::set<Rule> BrokenByMoving(std::size_t from, std::size_t to) {
    History history = Right();
    std::rotate(history.begin() + static_cast<std::ptrdiff_t>(to),
                history.begin() + static_cast<std::ptrdiff_t>(from),
                history.begin() + static_cast<std::ptrdiff_t>(from + 1));
    return Broken(history);
  }
};

TEST_F(StepByTensorTest, TheRightHistoryBreaksNothing) { EXPECT_THAT(Broken(Right()), IsEmpty()); }

TEST_F(StepByTensorTest, WeightsThatAreNeverReadHaveABaseAllTheSame) {
  History history = Right();
  history[9] = LevelReached{"nothing", 0, 0};
  EXPECT_THAT(Broken(history), IsEmpty());
  history[13] = Sends(1, 1);
  EXPECT_THAT(Broken(history), ElementsAre(Rule::kBaseVersions));
}

TEST_F(StepByTensorTest, ABlockThatFollowedTooSoon) {
  EXPECT_THAT(BrokenBy(14, Delivered(0, After({}))), ElementsAre(Rule::kReadsOwnWrites));
  History history = Right();
  history[14] = LevelReached{"nothing", 0, 0};
  history.insert(history.begin() + 12, Delivered(0, After({})));
  EXPECT_THAT(Broken(history), ElementsAre(Rule::kReadsOwnWrites)) << "before it was applied";
}

TEST_F(StepByTensorTest, WeightsThatAreOverwrittenWhileTheyAreRead) {
  History history = Right();
  history[10] = LevelReached{"nothing", 0, 0};  // the gradient is not made
  EXPECT_THAT(Broken(history), ElementsAre(Rule::kBaseVersions));
}

TEST_F(StepByTensorTest, WeightsThatWereNotDelivered) {
  EXPECT_THAT(BrokenByMoving(9, 6), ElementsAre(Rule::kBaseVersions));
  EXPECT_THAT(BrokenBy(9, Reads(1)), ElementsAre(Rule::kBaseVersions));
}

TEST_F(StepByTensorTest, AGradientThatIsSentBeforeItIsMade) {
  EXPECT_THAT(BrokenByMoving(11, 10), ElementsAre(Rule::kBaseVersions));
  EXPECT_THAT(BrokenBy(11, Sends(2, 0)), ElementsAre(Rule::kBaseVersions));
}

TEST_F(StepByTensorTest, ABaseVersionThatTheGradientIsNotFrom) {
  EXPECT_THAT(BrokenBy(11, Sends(1, 1)), ElementsAre(Rule::kBaseVersions));
  EXPECT_THAT(BrokenBy(13, Sends(1, 1)), ElementsAre(Rule::kBaseVersions)) << "the repetition's";
}

TEST_F(HistoryCheckerTest, LimitsLentBytesAndAccusations) {
  EXPECT_THAT(BrokenBy(15, LevelReached{"pushes", 3, 2}), ElementsAre(Rule::kLimits));
  EXPECT_THAT(BrokenBy(15, LevelReached{"spares", -1, 2}), ElementsAre(Rule::kLimits));
  EXPECT_THAT(BrokenBy(15, LentBytesChanged{"a push"}), ElementsAre(Rule::kLentBytes));
  EXPECT_THAT(BrokenBy(15, PeerAccused{"worker 0", "x"}), ElementsAre(Rule::kNobodyAccused));
}

}  // namespace
}  // namespace weir::sim
