#include "runtime/worker_role.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "runtime/evaluation_report.h"
#include "worker/training/evaluator.h"

namespace weir {
namespace {

InputContext InputOf(const RoleSetup& setup) {
  return {.data_dir = setup.options.data_dir,
          .batch_size = setup.options.batch_size,
          .worker = WorkerRank(setup.cluster, setup.task.index),
          .workers = std::max(1, setup.cluster.worker_count()),
          .seed = setup.options.seed};
}

std::unique_ptr<wire::PhasesT> PhasesOf(const PhaseTimes& spent) {
  const auto micros = [](absl::Duration duration) {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, absl::ToInt64Microseconds(duration)));
  };
  auto phases = std::make_unique<wire::PhasesT>();
  phases->data_us = micros(spent.data);
  phases->ticket_us = micros(spent.ticket);
  phases->pull_us = micros(spent.pull);
  phases->forward_us = micros(spent.forward);
  phases->backward_us = micros(spent.backward);
  phases->push_us = micros(spent.push);
  return phases;
}

wire::FinishedT FinishedOf(const TrainingResult& result, const DataClient& client) {
  wire::FinishedT finished;
  finished.steps = result.steps;
  finished.pushes_acknowledged = client.pushes_acknowledged();
  finished.one_sided_bytes = client.one_sided_reads().bytes;
  finished.final_loss = result.final_loss;
  finished.phases = PhasesOf(result.phases);
  finished.reason =
      result.end == TrainingResult::End::kNoDataLeft ? "no data left" : "no steps left";
  return finished;
}

}  // namespace

RoleEnd WorkerRole::Run(StopSignal& stop) {
  const StopSignal::Registration registration = stop.OnStop([this] { member_.Wake(); });
  const absl::StatusOr<RoleEnd> end = Work();
  const RoleEnd result = end.ok() ? *end : member_.CauseOf(end.status());
  member_.Leave(result);
  return result;
}

absl::StatusOr<RoleEnd> WorkerRole::Work() {
  // The data first: what is wrong with them is said at once, chief or no chief.
  WEIR_ASSIGN_OR_RETURN(Dataset data, setup_.job->TrainingData(InputOf(setup_)));
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<BatchIterator> batches, data.CreateIterator());
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                        setup_.job->CreateModel(setup_.options.batch_size));
  WEIR_RETURN_IF_ERROR(member_.Join());
  WEIR_ASSIGN_OR_RETURN(DataClient * client, member_.Connect());
  absl::StatusOr<TrainingResult> result = TrainOn(*client, *model, *batches);
  wire::FinishedT finished;
  if (result.ok()) finished = FinishedOf(*result, *client);
  member_.Disconnect();
  WEIR_RETURN_IF_ERROR(result.status());
  if (result->end == TrainingResult::End::kInterrupted) return member_.Interrupted();
  member_.ReportFinished(std::move(finished));
  return WaitForEnd();
}

absl::StatusOr<TrainingResult> WorkerRole::TrainOn(DataClient& client, Model& model,
                                                   BatchIterator& batches) {
  WEIR_ASSIGN_OR_RETURN(ParameterBuffer weights, client.AllocateParameters());
  WEIR_ASSIGN_OR_RETURN(ParameterBuffer gradients, client.AllocateParameters());
  const TrainerOptions options{.log_every = setup_.options.log_step_count_steps,
                               .log = [this](const TrainingLine& line) { ReportLine(line); },
                               .interrupted = &StopSignal::received,
                               .on_push = [this] { member_.OnPush(); }};
  return Train(options, client, model, batches, weights, gradients);
}

void WorkerRole::ReportLine(const TrainingLine& line) {
  LogInfo("step ", line.step.value(), " loss ", absl::StrFormat("%.5f", line.loss), " (",
          absl::StrFormat("%.1f", line.steps_per_second), " steps/s here)");
  wire::TrainingLineT report;
  report.step = line.step.value();
  report.loss = line.loss;
  report.steps_per_second = static_cast<float>(line.steps_per_second);
  wire::MemberBodyUnion body;
  body.Set(std::move(report));
  member_.Report(std::move(body));
}

RoleEnd WorkerRole::WaitForEnd() {
  while (true) {
    WorkerMember::Next next = member_.WaitForNext();
    if (next.end.has_value()) return *std::move(next.end);
    EvaluateFor(*next.evaluate);
  }
}

void WorkerRole::EvaluateFor(const wire::EvaluateT& request) {
  const absl::StatusOr<Evaluation> evaluation = [&]() -> absl::StatusOr<Evaluation> {
    WEIR_ASSIGN_OR_RETURN(Evaluator evaluator, Evaluator::Create(*setup_.job, InputOf(setup_),
                                                                 setup_.options.eval_steps));
    return evaluator.EvaluateCheckpoint(
        absl::StrCat(setup_.options.model_dir, "/", request.checkpoint),
        [this] { return member_.MustEnd(); });
  }();
  if (absl::IsCancelled(evaluation.status())) return;
  wire::EvaluationDoneT done = ReportOf(request.step, evaluation);
  if (!done.error.empty()) {
    LogError("the evaluation of ", request.checkpoint, " failed: ", done.error);
  }
  wire::MemberBodyUnion body;
  body.Set(std::move(done));
  member_.Report(std::move(body));
}

}  // namespace weir
