#include "tests/simulation/scenario.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/simulation/random.h"

namespace weir::sim {
namespace {

using chief::MemberId;
using chief::Phase;

constexpr std::array<std::pair<const char*, Plant>, 25> kPlants = {{
    {"reapply-repeats", Plant::kReapplyRepeats},
    {"acknowledge-lost", Plant::kAcknowledgeLost},
    {"push-read-late", Plant::kPushReadLate},
    {"block-read-late", Plant::kBlockReadLate},
    {"ignore-views", Plant::kIgnoreViews},
    {"no-ticks", Plant::kNoTicks},
    {"acknowledge-early", Plant::kAcknowledgeEarly},
    {"gradient-early", Plant::kGradientEarly},
    {"read-torn", Plant::kReadTorn},
    {"read-stale-view", Plant::kReadStaleView},
    {"half-fetched", Plant::kHalfFetched},
    {"fetch-failed", Plant::kFetchFailed},
    {"landing-reused", Plant::kLandingReused},
    {"deaf-members", Plant::kDeafMembers},
    {"exit-zero", Plant::kExitZero},
    {"done-before-written", Plant::kDoneBeforeWritten},
    {"old-cut", Plant::kOldCut},
    {"resume-older", Plant::kResumeOlder},
    {"forget-final", Plant::kForgetFinal},
    {"views-reordered", Plant::kViewsReordered},
    {"resurrect", Plant::kResurrect},
    {"drop-heartbeats", Plant::kDropHeartbeats},
    {"hasty-end", Plant::kHastyEnd},
    {"committer-lives-on", Plant::kCommitterLivesOn},
    {"prune-newest", Plant::kPruneNewest},
}};

MemberId AnyTask(Random& random, const Scenario& s) {
  const int chief = 1;
  int which = random.Int(0, chief + s.ps + s.workers + s.evaluators - 1);
  if (which == 0) return {wire::Role::Chief, 0};
  which -= chief;
  if (which < s.ps) return {wire::Role::Ps, static_cast<std::uint32_t>(which)};
  which -= s.ps;
  if (which < s.workers) return {wire::Role::Worker, static_cast<std::uint32_t>(which)};
  return {wire::Role::Evaluator, static_cast<std::uint32_t>(which - s.workers)};
}

Fault MakeFault(Random& random, const Scenario& s) {
  Fault fault;
  fault.task = AnyTask(random, s);
  const double kind = random.Unit();
  fault.kind = kind < 0.45   ? FaultKind::kKill
               : kind < 0.78 ? FaultKind::kFreeze
               : kind < 0.88 ? FaultKind::kStop
                             : FaultKind::kCut;
  if (random.Chance(0.6)) {
    fault.phase = static_cast<Phase>(
        random.Int(static_cast<int>(Phase::kWaiting), static_cast<int>(Phase::kLingering)));
    fault.after = random.Chance(0.5) ? absl::ZeroDuration() : random.Upto(absl::Milliseconds(100));
  } else {
    fault.after = random.Upto(absl::Milliseconds(800));
  }
  fault.duration = random.Upto(s.lease * 2.5);
  // The first worker always comes back: somebody has to do the steps.
  const bool first_worker = fault.task == MemberId{wire::Role::Worker, 0};
  const bool gone = fault.kind != FaultKind::kFreeze;
  if (gone && (first_worker || random.Chance(0.5))) {
    fault.restarts_after =
        random.Upto(random.Chance(0.5) ? absl::Milliseconds(50) : absl::Seconds(2));
  }
  // Somebody takes a frozen process for dead, and starts its task a second time.
  if (!gone && random.Chance(0.3)) fault.restarts_after = random.Upto(fault.duration);
  return fault;
}

// Most jobs are never stopped, and few settle: somebody stops this one, and then something happens.
void AddFaultsOfAStop(Random& random, Scenario& s) {
  Fault stop;
  stop.kind = FaultKind::kStop;
  stop.task = {random.Chance(0.5) ? wire::Role::Chief : wire::Role::Ps, 0};
  stop.phase = Phase::kTraining;
  stop.after = random.Upto(absl::Milliseconds(150));
  s.faults.push_back(stop);
  Fault then = MakeFault(random, s);
  then.kind = random.Chance(0.5) ? FaultKind::kKill : FaultKind::kFreeze;
  then.phase = random.Chance(0.5) ? Phase::kStopping : Phase::kSettling;
  then.after = absl::ZeroDuration();
  s.faults.push_back(then);
}

// A worker dies or freezes while others read its memory.
void AddFaultOfAFarWorker(Random& random, Scenario& s) {
  Fault fault = MakeFault(random, s);
  fault.task = {wire::Role::Worker, static_cast<std::uint32_t>(random.Int(0, s.workers - 1))};
  fault.kind = random.Chance(0.5) ? FaultKind::kKill : FaultKind::kFreeze;
  fault.phase = Phase::kTraining;
  fault.after = random.Upto(absl::Milliseconds(300));
  fault.restarts_after = random.Upto(absl::Seconds(2));
  s.faults.push_back(fault);
}

void AddFaults(Random& random, Scenario& s) {
  if (random.Chance(0.7)) s.drop = random.Unit() * 0.3;
  if (random.Chance(0.7)) s.duplicate = random.Unit() * 0.4;
  if (random.Chance(0.7)) s.slow = random.Unit() * 0.3;
  s.delay = absl::Microseconds(random.Int(10, 3000));
  s.slow_delay = absl::Milliseconds(random.Int(10, 300));
  if (random.Chance(0.15)) s.disk_error = 0.1;
  if (random.Chance(0.3)) s.evaluation_error = 0.3;
  if (random.Chance(0.2)) s.evaluation_hang = 0.3;
  if (random.Chance(0.35)) AddFaultsOfAStop(random, s);
  if (random.Chance(0.7)) {
    for (int i = random.Int(1, 4); i > 0; --i) s.faults.push_back(MakeFault(random, s));
  }
}

}  // namespace

const char* FaultText(FaultKind kind) {
  switch (kind) {
    case FaultKind::kKill:
      return "kill";
    case FaultKind::kFreeze:
      return "freeze";
    case FaultKind::kStop:
      return "stop";
    case FaultKind::kCut:
      return "cut";
  }
  return "?";
}

std::optional<Plant> PlantNamed(const std::string& name) {
  for (const auto& [known, plant] : kPlants) {
    if (name == known) return plant;
  }
  return std::nullopt;
}

std::string PlantNames() {
  return absl::StrJoin(kPlants, ", ", [](std::string* out, const auto& plant) {
    absl::StrAppend(out, plant.first);
  });
}

Scenario MakeScenario(std::uint64_t seed, Plant plant) {
  Random random(seed);
  Scenario s;
  s.seed = seed;
  s.plant = plant;
  s.ps = random.Int(1, 4);
  s.workers = random.Int(1, 4);
  s.evaluators = random.Chance(0.5) ? random.Int(1, 2) : 0;
  for (int i = random.Int(1, 7); i > 0; --i) s.tensors.push_back(random.Int(1, 24));
  // A power of two: sums of small integers, so scaled, are exact in any order.
  s.learning_rate = 1.0F / static_cast<float>(1 << random.Int(0, 4));
  s.max_steps = Step(static_cast<std::uint64_t>(random.Int(1, 40)));
  s.push_credits = random.Int(1, 4);
  s.pull_credits = random.Int(1, 4);
  s.spares = random.Int(0, 3);
  s.overlap = random.Chance(0.5) ? random.Unit() * 0.5 : 0;
  s.release_early = random.Chance(0.3) ? 0.1 : 0;
  s.wait_for_view = random.Chance(0.5);
  s.restart_each = random.Chance(0.5);
  s.lease = absl::Seconds(random.Int(1, 5));
  s.start_deadline = absl::Seconds(random.Int(30, 300));
  s.end_linger = absl::Seconds(random.Int(5, 60));
  s.grace = absl::Seconds(random.Int(5, 30));
  if (random.Chance(0.8)) {
    s.save_checkpoints_steps = static_cast<std::uint64_t>(random.Int(1, 12));
  }
  if (random.Chance(0.3)) s.save_checkpoints_secs = absl::Milliseconds(random.Int(20, 400));
  s.keep_checkpoint_max = random.Int(0, 3);
  s.disk_delay = absl::Milliseconds(random.Int(1, 60));
  AddFaults(random, s);
  if (random.Chance(0.6)) s.by_tensor = random.Chance(0.5) ? 1 : random.Unit();
  s.compute = random.Upto(random.Chance(0.5) ? s.delay : 10 * s.delay);
  if (random.Chance(0.6)) s.mapped = random.Chance(0.5) ? 1 : random.Unit();
  if (random.Chance(0.8)) s.far = random.Chance(0.5) ? 1 : random.Unit();
  s.fetch = random.Chance(0.5) ? 10 * s.delay : absl::Milliseconds(random.Int(10, 200));
  if (random.Chance(0.5)) s.fetch_stalls = random.Unit() * 0.2;
  if (s.far > 0 && random.Chance(0.4)) AddFaultOfAFarWorker(random, s);
  if (plant == Plant::kLandingReused) {
    // What it spoils is rare.
    s.mapped = 0, s.far = 1, s.fetch_stalls = 0.5;
    for (int i = 0; i < 3; ++i) AddFaultOfAFarWorker(random, s);
  }
  s.ps_threads = random.Chance(0.3) ? random.Int(2, 3) : 1;
  s.rdma = random.Chance(0.5);
  if (s.rdma && random.Chance(0.5)) s.first_ps_has_rdma_for = random.Upto(absl::Milliseconds(400));
  return s;
}

std::string Scenario::Describe() const {
  std::string text = absl::StrCat(
      ps, " ps of ", ps_threads, " threads, ", workers, " workers, ", evaluators,
      " evaluators, tensors of ", absl::StrJoin(tensors, "+"), " elements, ", max_steps.value(),
      " steps, credits ", push_credits, "/", pull_credits, ", spares ", spares, ", drop ", drop,
      ", duplicate ", duplicate, ", delay ", absl::FormatDuration(delay), ", slow ", slow, " x ",
      absl::FormatDuration(slow_delay), ", lease ", absl::FormatDuration(lease), ", save every ",
      save_checkpoints_steps, " steps and ", absl::FormatDuration(save_checkpoints_secs), ", keep ",
      keep_checkpoint_max, ", by tensor ", by_tensor, ", compute ", absl::FormatDuration(compute),
      ", mapped ", mapped, ", far ", far, ", fetch ", absl::FormatDuration(fetch), ", stalls ",
      fetch_stalls, restart_each ? ", restarted one by one" : ", restarted as a whole");
  if (rdma) {
    absl::StrAppend(&text, ", RDMA, of the first ps for ",
                    absl::FormatDuration(first_ps_has_rdma_for));
  }
  for (const Fault& fault : faults) {
    absl::StrAppend(&text, ", ", FaultText(fault.kind), " ", fault.task.ToString(), " ",
                    absl::FormatDuration(fault.after), " after ",
                    fault.phase ? PhaseText(*fault.phase) : "the start");
    if (fault.kind == FaultKind::kFreeze) {
      absl::StrAppend(&text, " for ", absl::FormatDuration(fault.duration));
    }
    if (fault.restarts_after) {
      absl::StrAppend(&text, " (again after ", absl::FormatDuration(*fault.restarts_after), ")");
    }
  }
  return text;
}

}  // namespace weir::sim
