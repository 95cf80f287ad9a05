#include "tests/simulation/history_checker.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/gradient.h"

namespace weir::sim {
namespace {

class HistoryRules {
 public:
  explicit HistoryRules(const Expected& expected) : expected_(expected) {
    for (const Block& block : expected.layout->blocks()) {
      std::vector<float> values(static_cast<std::size_t>(block.elements));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = InitialValue(block.id, i);
      if (expected.first != nullptr) values = (*expected.first)[block.id.value()];
      versions_.push_back({std::move(values)});
    }
  }

  void operator()(const OperationStarted& e) {
    Worker& worker = workers_[e.who];
    if (!worker.running.insert(e.what).second) Fail(Rule::kEnds, e, "while one was under way");
    if (e.what == Operation::kPush) {
      worker.push = {e.sequence, e.step};
      worker.by_tensor = e.by_tensor;
    }
    if (e.what == Operation::kPull) {
      worker.delivered.clear();
      worker.pull_from = worker.acknowledged;
      const bool follows = worker.by_tensor && worker.running.contains(Operation::kPush);
      worker.follows = follows ? std::optional(worker.push.first) : std::nullopt;
    }
  }

  void operator()(const OperationEnded& e) {
    Worker& worker = workers_[e.who];
    if (worker.running.erase(e.what) == 0) Fail(Rule::kEnds, e, "it had not started");
    if (!e.status.ok()) {
      if (!over_.contains(e.who)) Fail(Rule::kEnds, e, "the worker was alive");
      return;
    }
    if (e.what == Operation::kPush) Acknowledge(e, worker);
    if (e.what == Operation::kPull && worker.delivered.size() != versions_.size()) {
      Fail(Rule::kPullComplete, e, "with blocks missing");
    }
  }

  void operator()(const LifeOver& e) { over_.insert(e.who); }

  void operator()(const ShardTookView& e) {
    std::set<Life> live(e.live.begin(), e.live.end());
    for (const Life& life : live_[e.shard]) {
      if (!live.contains(life)) gone_[e.shard].insert(life);
    }
    for (const Life& life : live) {
      if (gone_[e.shard].contains(life)) Fail(Rule::kNoReturn, e, ToString(life) + " was gone");
    }
    live_[e.shard] = std::move(live);
    views_[e.shard] = e.view;
  }

  void operator()(const BlockApplied& e) {
    if (!live_[e.shard].contains(e.who)) Fail(Rule::kFenced, e, "it is not in the shard's view");
    if (!applied_.try_emplace({e.who, e.sequence, e.block}, e.version).second) {
      Fail(Rule::kAppliedOnce, e, "a second time");
    }
    auto& versions = versions_[e.block.value()];
    if (e.version.value() != versions.size()) {
      Fail(Rule::kVersions, e, absl::StrCat("expected version ", versions.size()));
    }
    std::vector<float> next = versions.back();
    for (std::size_t i = 0; i < next.size(); ++i) {
      next[i] -= expected_.learning_rate * GradientOf(e.who, e.sequence, e.block, i);
    }
    versions.push_back(std::move(next));
  }

  void operator()(const PullDelivered& e) {
    Worker& worker = workers_[e.who];
    if (!worker.running.contains(Operation::kPull)) Fail(Rule::kPullComplete, e, "outside a pull");
    if (!worker.delivered.insert(e.block).second) Fail(Rule::kPullComplete, e, "again");
    CheckWhole(e, e.block, e.version, e.values);
    const auto own = worker.pull_from.find(e.block);
    if (own != worker.pull_from.end() && e.version < own->second) {
      Fail(Rule::kReadsOwnWrites, e,
           absl::StrCat("its own acknowledged push made version ", own->second.value()));
    }
    if (worker.follows) CheckFollows(e, *worker.follows);
    if (worker.reading.contains(e.block)) {
      Fail(Rule::kBaseVersions, e, "over weights that a step still reads");
    }
    worker.here[e.block] = e.version;
  }

  void operator()(const MappedReadMade& e) {
    if (views_[e.shard] != e.view) {
      Fail(Rule::kMappedReads, e, absl::StrCat("the ps has view ", views_[e.shard].value()));
    }
    if (!live_[e.shard].contains(e.who)) Fail(Rule::kMappedReads, e, "it is not in that view");
  }

  void operator()(const WeightsRead& e) {
    Worker& worker = workers_[e.who];
    const auto here = worker.here.find(e.block);
    if (here == worker.here.end() || here->second != e.version) {
      Fail(Rule::kBaseVersions, e, "which was not delivered last");
    }
    const auto own = worker.acknowledged.find(e.block);
    if (own != worker.acknowledged.end() && e.version < own->second) {
      Fail(Rule::kReadsOwnWrites, e,
           absl::StrCat("its own acknowledged push made version ", own->second.value()));
    }
    worker.reading[e.block] = e.version;
  }

  void operator()(const GradientMade& e) {
    Worker& worker = workers_[e.who];
    Worker::Gradient& gradient = worker.gradients[e.block];
    gradient = {e.sequence, std::nullopt};
    // What was never read has a base all the same: what the step's own pull brings.
    if (const auto read = worker.reading.extract(e.block)) gradient.base = read.mapped();
  }

  void operator()(const PushSent& e) {
    Worker& worker = workers_[e.who];
    Worker::Gradient& gradient = worker.gradients[e.block];
    if (gradient.sequence != e.sequence) {
      return Fail(Rule::kBaseVersions, e, "before its gradient was made");
    }
    if (!gradient.base) gradient.base = worker.here[e.block];
    if (e.base != *gradient.base) {
      Fail(Rule::kBaseVersions, e,
           absl::StrCat("its gradient is from version ", gradient.base->value()));
    }
  }

  void operator()(const SnapshotBlock& e) { CheckWhole(e, e.block, e.version, e.values); }

  void operator()(const StepGranted& e) {
    if (!InRange(e.step)) Fail(Rule::kSteps, e, "out of the run's range");
    // One that is fenced may hear late of a step that another has done since.
    if (counted_.contains(e.step) && !over_.contains(e.who)) {
      Fail(Rule::kSteps, e, "it was counted before");
    }
  }

  void operator()(const StepCounted& e) {
    if (!InRange(e.step)) Fail(Rule::kSteps, e, "out of the run's range");
    if (!counted_.insert(e.step).second) Fail(Rule::kSteps, e, "a second time");
    if (!workers_[e.who].steps.contains(e.step)) {
      Fail(Rule::kSteps, e, "its push was not acknowledged");
    }
    const auto push = pushes_.find({e.who, e.step});
    counted_pushes_.push_back(
        push == pushes_.end() ? std::nullopt : std::optional(std::pair(e.who, push->second)));
    if (e.global_step.value() != expected_.start_step.value() + counted_.size()) {
      Fail(Rule::kSteps, e, "the global step does not count the steps");
    }
  }

  void operator()(const CutStored& e) {
    for (const auto& [block, version, values] : e.blocks) {
      CheckWhole(e, block, version, values);
      // The pushes of the first steps that were counted, up to the checkpoint's.
      const std::uint64_t steps = e.step.value() - expected_.start_step.value();
      for (std::size_t i = 0; i < steps && i < counted_pushes_.size(); ++i) {
        if (!counted_pushes_[i]) continue;
        const auto applied =
            applied_.find({counted_pushes_[i]->first, counted_pushes_[i]->second, block});
        if (applied != applied_.end() && applied->second > version) {
          Fail(Rule::kCheckpointHolds, e,
               absl::StrCat("block ", block.value(), " misses version ", applied->second.value()));
        }
      }
    }
  }

  void operator()(const LentBytesChanged& e) { Fail(Rule::kLentBytes, e, "before they were sent"); }
  void operator()(const LevelReached& e) {
    if (e.value < 0 || e.value > e.limit) Fail(Rule::kLimits, e, "beyond the limit");
  }
  void operator()(const PeerAccused& e) { Fail(Rule::kNobodyAccused, e, "wrongly"); }
  void operator()(const FinalBlock& e) {
    if (e.values != versions_[e.block.value()].back()) {
      Fail(Rule::kSerialSum, e, "not the serial sum");
    }
  }

  std::vector<Violation> Finish() {
    const std::uint64_t steps = expected_.max_steps.value() - expected_.start_step.value();
    if (counted_.size() > steps || (!expected_.stopped && counted_.size() < steps)) {
      Add(Rule::kSteps, absl::StrCat(counted_.size(), " steps were counted, not ", steps));
    }
    for (const auto& [life, worker] : workers_) {
      if (!over_.contains(life) && !worker.running.empty()) {
        Add(Rule::kEnds, absl::StrCat("an operation of ", ToString(life), " never ended"));
      }
    }
    return std::move(violations_);
  }

 private:
  struct Worker {
    std::set<Operation> running;
    std::pair<Sequence, Step> push;           // the last one started
    std::map<BlockId, Version> acknowledged;  // of its last acknowledged push
    std::map<BlockId, Version> pull_from;     // `acknowledged` when the pull started
    std::set<BlockId> delivered;              // of the last pull
    std::set<Step> steps;                     // of its acknowledged pushes
    bool by_tensor = false;                   // the last push that was started
    std::optional<Sequence> follows;          // the push that its pull follows, block by block
    std::map<BlockId, Version> here;          // what was delivered last
    std::map<BlockId, Version> reading;       // by a step under way
    struct Gradient {
      Sequence sequence;
      std::optional<Version> base;
    };
    std::map<BlockId, Gradient> gradients;  // the last ones
  };

  void Acknowledge(const OperationEnded& e, Worker& worker) {
    const auto [sequence, step] = worker.push;
    worker.steps.insert(step);
    pushes_[{e.who, step}] = sequence;
    for (const Block& block : expected_.layout->blocks()) {
      const auto applied = applied_.find({e.who, sequence, block.id});
      if (applied == applied_.end()) {
        Fail(Rule::kAcknowledged, e,
             absl::StrCat("block ", block.id.value(), " of push #", sequence.value(),
                          " was not applied"));
        continue;
      }
      worker.acknowledged[block.id] = applied->second;
    }
  }

  // Each block is asked for once the push that it follows was acknowledged there.
  void CheckFollows(const PullDelivered& e, Sequence push) {
    const auto applied = applied_.find({e.who, push, e.block});
    if (applied == applied_.end()) {
      Fail(Rule::kReadsOwnWrites, e, "before its own push of it was applied");
    } else if (e.version < applied->second) {
      Fail(Rule::kReadsOwnWrites, e,
           absl::StrCat("its own push made version ", applied->second.value()));
    }
  }

  void CheckWhole(const Event& e, BlockId block, Version version,
                  const std::vector<float>& values) {
    const auto& versions = versions_[block.value()];
    if (version.value() >= versions.size()) {
      Fail(Rule::kWholeBlocks, e, "there is no such version");
    } else if (values != versions[version.value()]) {
      Fail(Rule::kWholeBlocks, e, "these are not the values of that version");
    }
  }

  bool InRange(Step step) const {
    return step > expected_.start_step && step <= expected_.max_steps;
  }
  void Fail(Rule rule, const Event& event, absl::string_view why) {
    Add(rule, absl::StrCat(ToString(event), ": ", why));
  }
  void Add(Rule rule, std::string what) {
    const auto same = [&](const Violation& v) { return v.rule == rule; };
    if (std::ranges::none_of(violations_, same)) violations_.push_back({rule, std::move(what)});
  }

  const Expected expected_;
  std::vector<Violation> violations_;
  std::map<Life, Worker> workers_;
  std::set<Life> over_;
  std::map<ShardIndex, std::set<Life>> live_;
  std::map<ShardIndex, ViewNumber> views_;
  std::map<ShardIndex, std::set<Life>> gone_;  // from an earlier view
  std::map<std::tuple<Life, Sequence, BlockId>, Version> applied_;
  std::vector<std::vector<std::vector<float>>> versions_;  // by block, then version
  std::set<Step> counted_;
  std::map<std::pair<Life, Step>, Sequence> pushes_;  // acknowledged
  // Of the steps counted, in that order.
  std::vector<std::optional<std::pair<Life, Sequence>>> counted_pushes_;
};

}  // namespace

const char* RuleName(Rule rule) {
  switch (rule) {
    case Rule::kAppliedOnce:
      return "applied once";
    case Rule::kAcknowledged:
      return "acknowledged is applied";
    case Rule::kVersions:
      return "versions count updates";
    case Rule::kFenced:
      return "fenced is not applied";
    case Rule::kSerialSum:
      return "serial sum";
    case Rule::kWholeBlocks:
      return "whole blocks";
    case Rule::kReadsOwnWrites:
      return "reads own writes";
    case Rule::kMappedReads:
      return "mapped reads";
    case Rule::kBaseVersions:
      return "base versions";
    case Rule::kPullComplete:
      return "pull complete";
    case Rule::kSteps:
      return "steps";
    case Rule::kEnds:
      return "every wait ends";
    case Rule::kLimits:
      return "limits";
    case Rule::kLentBytes:
      return "lent bytes";
    case Rule::kNobodyAccused:
      return "nobody is accused";
    case Rule::kCheckpointHolds:
      return "checkpoint holds its steps";
    case Rule::kEveryoneEnds:
      return "everyone ends";
    case Rule::kExitCodes:
      return "exit codes";
    case Rule::kCheckpointWhole:
      return "checkpoint is whole";
    case Rule::kCheckpointsAdvance:
      return "checkpoints advance";
    case Rule::kOneCommitter:
      return "one committer";
    case Rule::kFinalMark:
      return "final mark";
    case Rule::kResume:
      return "resumes from the newest";
    case Rule::kPruning:
      return "pruning";
    case Rule::kViews:
      return "views grow";
    case Rule::kOnePath:
      return "one path for all";
    case Rule::kNoReturn:
      return "who is gone stays gone";
    case Rule::kLease:
      return "leases hold";
    case Rule::kEndWaits:
      return "the end waits";
  }
  return "?";
}

std::vector<Violation> CheckHistory(const History& history, const Expected& expected) {
  HistoryRules checker(expected);
  for (const Event& event : history) std::visit(checker, event);
  return checker.Finish();
}

}  // namespace weir::sim
