#include "tests/simulation/history.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weir::sim {
namespace {

const char* Name(Operation what) {
  switch (what) {
    case Operation::kPush:
      return "push";
    case Operation::kPull:
      return "pull";
    case Operation::kTicket:
      return "ticket";
  }
  return "?";
}

std::string Values(const std::vector<float>& values) {
  return absl::StrCat("[", absl::StrJoin(values, " "), "]");
}

struct Printer {
  std::string operator()(const OperationStarted& e) const {
    std::string text = absl::StrCat(ToString(e.who), " starts a ", Name(e.what));
    if (e.what == Operation::kPush) {
      absl::StrAppend(&text, " #", e.sequence.value(), " of step ", e.step.value(),
                      e.by_tensor ? " by tensor" : "");
    }
    return text;
  }
  std::string operator()(const OperationEnded& e) const {
    return absl::StrCat(ToString(e.who), " ends its ", Name(e.what), ": ", e.status.ToString());
  }
  std::string operator()(const LifeOver& e) const {
    return absl::StrCat(ToString(e.who), " is over");
  }
  std::string operator()(const ShardTookView& e) const {
    std::string text = absl::StrCat("ps ", e.shard.value(), " takes view ", e.view.value(), ":");
    for (const Life& life : e.live) absl::StrAppend(&text, " ", ToString(life));
    return text;
  }
  std::string operator()(const BlockApplied& e) const {
    return absl::StrCat("ps ", e.shard.value(), " applied block ", e.block.value(), " of push #",
                        e.sequence.value(), " of ", ToString(e.who), ", now version ",
                        e.version.value());
  }
  std::string operator()(const PullDelivered& e) const {
    return absl::StrCat(ToString(e.who), " got block ", e.block.value(), " version ",
                        e.version.value(), " ", Values(e.values));
  }
  std::string operator()(const WeightsRead& e) const {
    return absl::StrCat(ToString(e.who), " reads block ", e.block.value(), " version ",
                        e.version.value());
  }
  std::string operator()(const GradientMade& e) const {
    return absl::StrCat(ToString(e.who), " made the gradient of block ", e.block.value(),
                        " for push #", e.sequence.value());
  }
  std::string operator()(const MappedReadMade& e) const {
    return absl::StrCat(ToString(e.who), " reads the memory of ps ", e.shard.value(), " in view ",
                        e.view.value());
  }
  std::string operator()(const PushSent& e) const {
    return absl::StrCat(ToString(e.who), " sends block ", e.block.value(), " of push #",
                        e.sequence.value(), " from base version ", e.base.value());
  }
  std::string operator()(const SnapshotBlock& e) const {
    return absl::StrCat("snapshot of block ", e.block.value(), " version ", e.version.value(), " ",
                        Values(e.values));
  }
  std::string operator()(const StepGranted& e) const {
    return absl::StrCat(ToString(e.who), " was granted step ", e.step.value());
  }
  std::string operator()(const StepCounted& e) const {
    return absl::StrCat("step ", e.step.value(), " of ", ToString(e.who),
                        " is counted, global step ", e.global_step.value());
  }
  std::string operator()(const LentBytesChanged& e) const {
    return absl::StrCat("lent bytes changed: ", e.what);
  }
  std::string operator()(const LevelReached& e) const {
    return absl::StrCat(e.what, " reached ", e.value, " of ", e.limit);
  }
  std::string operator()(const PeerAccused& e) const {
    return absl::StrCat(e.peer, " is accused of ", e.what);
  }
  std::string operator()(const CutStored& e) const {
    return absl::StrCat("the checkpoint of step ", e.step.value(), " with ", e.blocks.size(),
                        " blocks");
  }
  std::string operator()(const FinalBlock& e) const {
    return absl::StrCat("at the end block ", e.block.value(), " is ", Values(e.values));
  }
};

}  // namespace

std::string ToString(const Life& life) {
  return absl::StrCat("worker ", life.worker.value(), "/", life.incarnation.value());
}

std::string ToString(const Event& event) { return std::visit(Printer{}, event); }

}  // namespace weir::sim
