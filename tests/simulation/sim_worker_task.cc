#include "tests/simulation/sim_worker_task.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/model/protocol.h"
#include "tests/simulation/sim_chief.h"
#include "tests/simulation/sim_cluster.h"
#include "tests/simulation/sim_evaluation.h"
#include "tests/simulation/sim_shard.h"
#include "weir/exit_code.h"

namespace weir::sim {
namespace {

constexpr absl::Duration kConnectPause = absl::Milliseconds(20);
constexpr absl::Duration kConnectWithin = absl::Seconds(60);

}  // namespace

void SimWorkerTask::OnView(const wire::ViewT& view) {
  view_ = ViewNumber(view.number);
  if (worker_ != nullptr) return worker_->OnView(view_);
  if (!view.ready || std::exchange(connecting_, true)) return;
  connect_by_ = now() + kConnectWithin;
  Connect(ShardIndex(0));
}

void SimWorkerTask::Connect(ShardIndex shard) {
  wire::ConnectRequestT request;
  request.protocol = kProtocolVersion;
  request.transport = "simulated";
  request.worker = life().worker.value();
  request.incarnation = life().incarnation.value();
  request.layout_fingerprint = world_.layout().fingerprint();
  request.data_address = {1};
  SimShard* const ps = run().FindShard(shard);
  if (ps == nullptr || !world_.processes().alive(ps->process())) {
    return After(world_.network().Delay(), [this, shard] { OnConnectReply(shard, nullptr); });
  }
  const auto answered = std::make_shared<bool>(false);
  const auto answer = [this, shard, answered](const wire::ConnectReplyT* reply) {
    if (!std::exchange(*answered, true)) OnConnectReply(shard, reply);
  };
  world_.processes().After(
      ps->process(), world_.network().Delay(), [this, ps, request, answer, answered] {
        const wire::ConnectReplyT reply = ps->Connect(request);
        After(world_.network().Delay(), [this, answered, answer, reply, mapping = ps->Map()] {
          if (reply.accepted && !*answered) mappings_.push_back(mapping);
          answer(&reply);
        });
      });
  After(absl::Seconds(5), [answer] { answer(nullptr); });
}

void SimWorkerTask::OnConnectReply(ShardIndex shard, const wire::ConnectReplyT* reply) {
  if (leaving()) return;
  if (told_to_stop_) return Leave(0, "told to stop");
  if (reply == nullptr || !reply->accepted) {
    if (reply != nullptr && !reply->retry) return Leave(2, reply->reason);
    if (now() >= connect_by_) return Leave(4, "a ps could not be connected to in time");
    return After(kConnectPause, [this, shard] {
      if (!leaving()) Connect(shard);
    });
  }
  links_.push_back({.session = reply->session,
                    .push_credits = world_.scenario().push_credits,
                    .pull_credits = world_.scenario().pull_credits});
  const ShardIndex next = shard.next();
  if (next.value() < world_.layout().shards()) return Connect(next);
  BeginTraining();
}

void SimWorkerTask::BeginTraining() {
  const bool mapped = world_.random().Chance(world_.scenario().mapped);
  if (!mapped) mappings_.assign(links_.size(), {});
  const bool far = !mapped && world_.random().Chance(world_.scenario().far);
  worker_ =
      std::make_unique<SimWorker>(run(), life(), process(), links_, mappings_, far,
                                  [this](const absl::Status& status) { OnTrainingEnded(status); });
  run().AddWorker(life(), worker_.get());
  if (given_up_) run().EndLife(life());
  if (world_.scenario().wait_for_view) return worker_->OnView(view_);
  worker_->Start();
  After(world_.network().Delay(), [this] { worker_->OnView(view_); });
}

void SimWorkerTask::OnTrainingEnded(const absl::Status& status) {
  if (leaving()) return;
  if (status.ok() && told_to_stop_) return Leave(0, "told to stop");
  if (status.ok()) {
    wire::FinishedT finished;
    finished.steps = worker_->steps();
    finished.reason = "no steps left";
    return Send(std::move(finished));
  }
  world_.Count(absl::IsFailedPrecondition(status) ? "worker hears fenced"
                                                  : "worker's connection broke");
  // As runtime/worker_role.cc: the chief may know better, and is given a lease to say so.
  const bool patient = ExitCodeOf(status) == ExitCode::kPeerLost;
  After(patient ? world_.scenario().lease + absl::Milliseconds(500) : absl::ZeroDuration(),
        [this, code = static_cast<int>(ExitCodeOf(status))] { Leave(code, "it cannot go on"); });
}

void SimWorkerTask::OnCommand(const wire::ChiefMessageT& message) {
  const auto* evaluate = message.body.AsEvaluate();
  if (evaluate == nullptr) return;
  world_.Count("worker evaluates");
  SimulateEvaluation(world_, process(), Step(evaluate->step),
                     [this](wire::EvaluationDoneT done) { Send(std::move(done)); });
}

void SimWorkerTask::OnStopInSession() {
  told_to_stop_ = true;
  if (worker_ != nullptr && !worker_->done()) return worker_->Interrupt();
  if (!connecting_ || worker_ != nullptr) Leave(0, "told to stop");
}

void SimWorkerTask::OnOver() {
  EndLife();
  if (worker_ != nullptr) worker_->Abort(absl::UnavailableError("the job is over"));
}

void SimWorkerTask::EndLife() {
  given_up_ = true;
  if (worker_ != nullptr) run().EndLife(life());
}

void SimWorkerTask::OnDeath() {
  SimMember::OnDeath();
  if (worker_ != nullptr) run().RemoveWorker(life());
}

}  // namespace weir::sim
