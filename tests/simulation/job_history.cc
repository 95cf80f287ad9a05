#include "tests/simulation/job_history.h"

#include "absl/strings/str_cat.h"

namespace weir::sim {
namespace {

struct JobPrinter {
  std::string operator()(const TaskStarted& e) const {
    return absl::StrCat(P(e.process), " starts as ", ToString(e.who));
  }
  std::string operator()(const TaskHit& e) const {
    return absl::StrCat(FaultText(e.kind), " ", P(e.process));
  }
  std::string operator()(const TaskEnded& e) const {
    return absl::StrCat(P(e.process), " exits with ", e.exit_code, ": ", e.reason);
  }
  std::string operator()(const RunStarted& e) const {
    return absl::StrCat(P(e.chief), " leads a run from step ", e.resumed.value(),
                        e.intact ? "" : ", of which it reads something else");
  }
  std::string operator()(const PhaseEntered& e) const {
    return absl::StrCat(P(e.chief), " is now ", PhaseText(e.phase));
  }
  std::string operator()(const RunFinished& e) const {
    return absl::StrCat(P(e.chief), " ends its run with ", e.exit_code, ": ", e.reason);
  }
  std::string operator()(const MemberOpened& e) const {
    return absl::StrCat(P(e.process), " opens its session with ", P(e.chief));
  }
  std::string operator()(const MemberHeard& e) const {
    return absl::StrCat(P(e.chief), " hears ", P(e.process));
  }
  std::string operator()(const LeasesHeld& e) const {
    return absl::StrCat(P(e.chief), " was held up, and holds all leases");
  }
  std::string operator()(const MemberDropped& e) const {
    return absl::StrCat(P(e.chief), " drops ", P(e.process), e.silent ? " for its silence" : "");
  }
  std::string operator()(const ViewPublished& e) const {
    std::string text = absl::StrCat(P(e.chief), " publishes view ", e.view.value(), ":");
    for (const TaskLife& life : e.live) absl::StrAppend(&text, " ", ToString(life));
    return text;
  }
  std::string operator()(const ViewTaken& e) const {
    return absl::StrCat(P(e.process), " takes view ", e.view.value());
  }
  std::string operator()(const EndHeard& e) const {
    return absl::StrCat(P(e.process), " hears the end, ", e.exit_code);
  }
  std::string operator()(const EndUnheard& e) const {
    return absl::StrCat(P(e.process), " is told of the end, which is lost");
  }
  std::string operator()(const ChiefMissed& e) const {
    return absl::StrCat(P(e.process), " misses its chief");
  }
  std::string operator()(const CheckpointCommitted& e) const {
    return absl::StrCat(P(e.chief), " commits the checkpoint of step ", e.step.value(),
                        e.is_final ? ", final" : "", e.whole ? "" : ", not whole");
  }
  std::string operator()(const CheckpointMarkedFinal& e) const {
    return absl::StrCat("the checkpoint of step ", e.step.value(), " is marked final");
  }
  std::string operator()(const CheckpointPruned& e) const {
    return absl::StrCat("the checkpoint of step ", e.step.value(), " is pruned");
  }
  static std::string P(ProcessId process) { return absl::StrCat("process ", process); }
};

}  // namespace

std::string ToString(const TaskLife& life) {
  return absl::StrCat(life.task.ToString(), "/", life.incarnation.value());
}

std::string ToString(const JobEvent& event) { return std::visit(JobPrinter{}, event.what); }

}  // namespace weir::sim
