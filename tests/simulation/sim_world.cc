#include "tests/simulation/sim_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/job_checker.h"
#include "tests/simulation/sim_chief.h"
#include "tests/simulation/sim_cluster.h"
#include "tests/simulation/sim_evaluator.h"
#include "tests/simulation/sim_ps.h"
#include "tests/simulation/sim_worker_task.h"

namespace weir::sim {
namespace {

using chief::MemberId;

// A job takes a few ten thousand events; one that takes this many is going round in circles, and
// what it waits for is then a broken rule.
constexpr std::uint64_t kMostEvents = 1'000'000;
constexpr absl::Duration kJoinAttempt = absl::Seconds(3);
// More starts of one job than its faults can explain.
constexpr int kMostStarts = 400;
constexpr absl::Duration kRestartPause = absl::Milliseconds(500);

Layout MakeLayout(const Scenario& scenario) {
  std::vector<TensorSpec> tensors;
  for (std::size_t i = 0; i < scenario.tensors.size(); ++i) {
    tensors.push_back({absl::StrCat("t", i), DType::kFloat32, {scenario.tensors[i]}});
  }
  return *Layout::Create(std::move(tensors), scenario.ps, scenario.ps_threads);
}

}  // namespace

SimWorld::SimWorld(const Scenario& scenario, bool trace)
    : scenario_(scenario),
      layout_(MakeLayout(scenario_)),
      random_(scenario.seed ^ 0x5DEECE66DU),
      scheduler_(trace),
      processes_(scheduler_, random_),
      network_(scheduler_, processes_, random_, scenario_),
      fault_used_(scenario_.faults.size()) {}

SimWorld::~SimWorld() = default;

std::vector<Violation> SimWorld::Run() {
  StartMissing();
  for (std::size_t i = 0; i < scenario_.faults.size(); ++i) {
    const Fault& fault = scenario_.faults[i];
    if (fault.phase.has_value()) continue;
    scheduler_.After(fault.after, [this, &fault] { Inject(fault); });
  }
  while (events_ < kMostEvents && scheduler_.RunOne()) ++events_;
  std::vector<Violation> violations = CheckJob(history_, scenario_, scheduler_.now());
  for (SimChief* chief : chiefs_) {
    for (Violation& violation :
         chief->run().Judge(JobReachedMax(history_, chief->process(), scenario_))) {
      violations.push_back(std::move(violation));
    }
  }
  return violations;
}

void SimWorld::StartMissing() {
  std::vector<MemberId> tasks = {{wire::Role::Chief, 0}};
  const auto add = [&](wire::Role role, int count) {
    for (int i = 0; i < count; ++i) tasks.push_back({role, static_cast<std::uint32_t>(i)});
  };
  add(wire::Role::Ps, scenario_.ps);
  add(wire::Role::Worker, scenario_.workers);
  add(wire::Role::Evaluator, scenario_.evaluators);
  for (const MemberId task : tasks) {
    StartLater(task, random_.Upto(absl::Milliseconds(20)));
  }
}

void SimWorld::StartLater(MemberId task, absl::Duration after) {
  ++starts_ahead_;
  scheduler_.After(after, [this, task] {
    --starts_ahead_;
    const SimTask* const current = Current(task);
    if (current == nullptr || !current->alive()) StartTask(task);
  });
}

void SimWorld::StartTask(MemberId task) {
  if (++starts_ > kMostStarts) return;
  const TaskLife who{task, Incarnation(random_.Id() % 1000000 + 1)};
  std::unique_ptr<SimTask> made;
  switch (task.role) {
    case wire::Role::Chief: {
      // The model directory's lock: a chief that lives holds it, frozen or not.
      SimTask* earlier = Current(task);
      if (earlier != nullptr && earlier->alive()) return Count("second chief refused");
      made = std::make_unique<SimChief>(*this, who);
      break;
    }
    case wire::Role::Ps:
      made = std::make_unique<SimPs>(*this, who);
      break;
    case wire::Role::Worker:
      made = std::make_unique<SimWorkerTask>(*this, who);
      break;
    case wire::Role::Evaluator:
      made = std::make_unique<SimEvaluator>(*this, who);
      break;
  }
  Record(TaskStarted{made->process(), who});
  current_[task] = made.get();
  tasks_.push_back(std::move(made));
  tasks_.back()->Start();
}

SimTask* SimWorld::Current(MemberId task) {
  const auto found = current_.find(task);
  return found == current_.end() ? nullptr : found->second;
}

SimChief* SimWorld::chief() {
  auto* const chief = static_cast<SimChief*>(Current({wire::Role::Chief, 0}));
  return chief != nullptr && chief->alive() && chief->leads() ? chief : nullptr;
}

SimCluster& SimWorld::RunOf(ProcessId chief) {
  return (*std::ranges::find(chiefs_, chief, &SimChief::process))->run();
}

bool SimWorld::IsIntact(Step step, const std::vector<std::vector<float>>& values) const {
  const auto cut = cuts_.find(step);
  if (cut == cuts_.end()) return true;  // nothing was committed yet
  return std::ranges::all_of(cut->second, [&](const auto& stored) {
    return values[std::get<BlockId>(stored).value()] == std::get<2>(stored);
  });
}

void SimWorld::CallJoin(ProcessId from, const wire::JoinRequestT& request,
                        std::function<void(const wire::JoinReplyT*)> answer) {
  const auto answered = std::make_shared<bool>(false);
  const auto once = [answered, answer = std::move(answer)](const wire::JoinReplyT* reply) {
    if (!std::exchange(*answered, true)) answer(reply);
  };
  SimChief* const asked = chief();
  if (asked == nullptr) {
    return processes_.After(from, network_.Delay(), [once] { once(nullptr); });
  }
  processes_.After(asked->process(), network_.Delay(), [this, from, asked, request, once] {
    const auto reply = std::make_shared<wire::JoinReplyT>(asked->Join(request));
    if (random_.Chance(scenario_.drop / 4)) {
      if (reply->outcome == wire::JoinOutcome::Ended) Record(EndUnheard{from});
      return Count("join's answer lost");
    }
    processes_.After(from, network_.Delay(), [once, reply] { once(reply.get()); });
  });
  processes_.After(from, kJoinAttempt, [once] { once(nullptr); });
}

void SimWorld::Exit(SimTask& task, int exit_code, const std::string& reason) {
  if (!task.alive()) return;
  processes_.End(task.process());
  Record(TaskEnded{task.process(), exit_code, reason});
  Count(absl::StrCat(chief::RoleText(task.who().task.role), " exits ", exit_code));
  task.OnDeath();
  AfterDeath(task);
}

bool SimWorld::AnybodyAlive() const {
  return starts_ahead_ > 0 ||
         std::ranges::any_of(tasks_, [](const auto& task) { return task->alive(); });
}

void SimWorld::AfterDeath(const SimTask& task) {
  if (task.who().task.role == wire::Role::Chief) {
    for (const auto& other : tasks_) {
      auto* const member = dynamic_cast<SimMember*>(other.get());
      if (member != nullptr && member->leader() == &task) member->CutSession();
    }
  }
  const MemberId id = task.who().task;
  if (JobIsDone()) return;
  if (scenario_.restart_each && Current(id) == &task) {
    Count("restarted alone");
    StartLater(id, random_.Upto(kRestartPause));
  }
  if (AnybodyAlive()) return;
  Count("job restarted");
  StartMissing();
}

bool SimWorld::JobIsDone() const {
  const auto newest = disk_.Newest();
  return newest.has_value() && disk_.Find(*newest)->manifest->is_final;
}

void SimWorld::OnPhase(chief::Phase phase) {
  for (std::size_t i = 0; i < scenario_.faults.size(); ++i) {
    const Fault& fault = scenario_.faults[i];
    if (fault.phase != phase || fault_used_[i]) continue;
    fault_used_[i] = true;
    scheduler_.After(fault.after, [this, &fault] { Inject(fault); });
  }
}

void SimWorld::Inject(const Fault& fault) {
  SimTask* const task = Current(fault.task);
  if (task == nullptr || !task->alive()) return;
  const SimChief* leads = chief();
  const absl::string_view phase =
      leads == nullptr ? "there is no chief" : PhaseText(leads->phase());
  Count(
      absl::StrCat(FaultText(fault.kind), " ", chief::RoleText(fault.task.role), " while ", phase));
  const absl::Time until = scheduler_.now() + fault.duration;
  Record(TaskHit{task->process(), fault.kind, until});
  switch (fault.kind) {
    case FaultKind::kKill:
      processes_.End(task->process());
      task->OnDeath();
      break;
    case FaultKind::kFreeze:
      processes_.FreezeUntil(task->process(), until);
      break;
    case FaultKind::kStop:
      processes_.After(task->process(), absl::ZeroDuration(), [task] { task->OnStopSignal(); });
      break;
    case FaultKind::kCut:
      task->CutSession();
      break;
  }
  if (fault.restarts_after.has_value()) {
    ++starts_ahead_;
    scheduler_.After(*fault.restarts_after, [this, id = fault.task, kind = fault.kind] {
      --starts_ahead_;
      SimTask* const current = Current(id);
      // A frozen one gets a rival; whoever was started again already does not.
      if (current->alive() && kind != FaultKind::kFreeze) return;
      if (JobIsDone() && !AnybodyAlive()) return;
      StartTask(id);
    });
  }
  if (fault.kind == FaultKind::kKill) AfterDeath(*task);
}

void SimWorld::Append(JobEvent event) {
  if (scheduler_.tracing()) scheduler_.Trace(absl::StrCat("# ", ToString(event)));
  history_.push_back(std::move(event));
}

}  // namespace weir::sim
