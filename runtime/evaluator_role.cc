#include "runtime/evaluator_role.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/newest_instead.h"
#include "runtime/evaluation_report.h"

namespace weir {

RoleEnd EvaluatorRole::Run(StopSignal& stop) {
  const StopSignal::Registration registration = stop.OnStop([this] {
    MutexLock lock(&mutex_);
    changed_.NotifyAll();
  });
  const absl::StatusOr<RoleEnd> end = Work();
  const RoleEnd result = end.ok() ? *end : EndOf(end.status());
  if (session_) session_->Leave(result.exit_code, result.reason, absl::Seconds(2));
  return result;
}

absl::StatusOr<RoleEnd> EvaluatorRole::Work() {
  WEIR_ASSIGN_OR_RETURN(Evaluator evaluator,
                        Evaluator::Create(*setup_.job,
                                          {.data_dir = setup_.options.data_dir,
                                           .batch_size = setup_.options.batch_size,
                                           .seed = setup_.options.seed},
                                          setup_.options.eval_steps));
  WEIR_ASSIGN_OR_RETURN(session_, Session::Join({.chief_address = setup_.cluster.chief_address(),
                                                 .token = setup_.options.token,
                                                 .tls = setup_.tls,
                                                 .join = JoinRequestOf(setup_),
                                                 .start_deadline = setup_.options.start_deadline},
                                                &StopSignal::received));
  WEIR_RETURN_IF_ERROR(session_->Start(this));
  while (true) {
    const Next next = WaitForNext();
    if (next.end.has_value()) return *next.end;
    Evaluate(evaluator, *next.checkpoint);
  }
}

EvaluatorRole::Next EvaluatorRole::WaitForNext() {
  MutexLock lock(&mutex_);
  while (true) {
    if (end_.has_value()) return {.end = end_};
    if (StopSignal::received()) {
      return {.end = RoleEnd{0, "the evaluator was told to stop; the others go on"}};
    }
    if (newest_.has_value()) return {.checkpoint = std::exchange(newest_, std::nullopt)};
    changed_.WaitFor(&mutex_, absl::Seconds(1));
  }
}

void EvaluatorRole::Evaluate(Evaluator& evaluator, const wire::CheckpointSavedT& saved) {
  // An earlier turn may have taken it already, instead of one that was pruned.
  if (evaluated_.has_value() && Step(saved.step) <= *evaluated_) return;
  Evaluation found;
  const absl::StatusOr<CheckpointPath> read = ReadOrNewest(
      setup_.options.model_dir, saved.checkpoint, [&](const std::string& folder) -> absl::Status {
        WEIR_ASSIGN_OR_RETURN(found, evaluator.EvaluateCheckpoint(folder, [this] {
          MutexLock lock(&mutex_);
          return end_.has_value() || StopSignal::received();
        }));
        return absl::OkStatus();
      });
  if (absl::IsCancelled(read.status())) return;
  wire::EvaluationDoneT done =
      read.ok() ? ReportOf(read->step.value(), found) : ReportOf(saved.step, read.status());
  if (done.error.empty()) {
    evaluated_ = read->step;
    LogInfo(read->name, ": accuracy ", absl::StrFormat("%.4f", done.accuracy), " loss ",
            absl::StrFormat("%.5f", done.loss), " over ", done.examples, " examples");
  } else {
    LogError("the evaluation of ", saved.checkpoint, " failed: ", done.error);
  }
  wire::MemberBodyUnion body;
  body.Set(std::move(done));
  if (!session_->Send(std::move(body))) LogDebug("an evaluation could not be reported");
}

void EvaluatorRole::OnView(const wire::ViewT&) {}

void EvaluatorRole::OnCommand(const wire::ChiefMessageT& message) {
  const auto* saved = message.body.AsCheckpointSaved();
  if (saved == nullptr) return;
  MutexLock lock(&mutex_);
  newest_ = *saved;
  changed_.NotifyAll();
}

void EvaluatorRole::OnEnd(int exit_code, const std::string& reason) { SetEnd({exit_code, reason}); }

void EvaluatorRole::OnLost(const absl::Status& why) { SetEnd(EndOf(why)); }

void EvaluatorRole::SetEnd(RoleEnd end) {
  MutexLock lock(&mutex_);
  if (!end_.has_value()) end_ = std::move(end);
  changed_.NotifyAll();
}

}  // namespace weir
