#include "runtime/worker_role.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/version.h"
#include "common/rpc/client.h"
#include "runtime/evaluation_report.h"
#include "weir/exit_code.h"
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

/// Calls each shard's ps at the address that the view gives; one channel each, kept.
class ShardCaller {
 public:
  ShardCaller(const RoleSetup& setup, const wire::ViewT& view) {
    std::map<std::uint32_t, std::string> addresses;
    for (const auto& member : view.members) {
      if (member->role == wire::Role::Ps) addresses[member->index] = member->address;
    }
    for (const auto& [index, address] : addresses) {
      clients_.push_back(rpc::ShardClient::Create({.address = address,
                                                   .peer = absl::StrCat("ps ", index),
                                                   .token = setup.options.token,
                                                   .tls = setup.tls}));
    }
  }

  absl::StatusOr<wire::ConnectReplyT> operator()(ShardIndex shard,
                                                 const wire::ConnectRequestT& request) const {
    if (shard.value() >= clients_.size()) return absl::UnavailableError("no ps serves it yet");
    return clients_[shard.value()]->Connect(request, absl::Seconds(5));
  }

 private:
  std::vector<std::shared_ptr<rpc::ShardClient>> clients_;
};

}  // namespace

RoleEnd WorkerRole::Run(StopSignal& stop) {
  const StopSignal::Registration registration = stop.OnStop([this] {
    MutexLock lock(&mutex_);
    changed_.NotifyAll();
  });
  const absl::StatusOr<RoleEnd> end = Work();
  const RoleEnd result = end.ok() ? *end : CauseOf(end.status());
  if (session_) session_->Leave(result.exit_code, result.reason, absl::Seconds(2));
  return result;
}

RoleEnd WorkerRole::CauseOf(const absl::Status& failure) {
  absl::Duration patience = absl::ZeroDuration();
  if (session_ && ExitCodeOf(failure) == ExitCode::kPeerLost) {
    patience = absl::Milliseconds(session_->welcome().lease_ms) + absl::Milliseconds(500);
  }
  const absl::Time give_up = MonotonicNow() + patience;
  MutexLock lock(&mutex_);
  while (!inbox_.end.has_value() && !StopSignal::received() && MonotonicNow() < give_up) {
    changed_.WaitFor(&mutex_, give_up - MonotonicNow());
  }
  return inbox_.end.has_value() ? *inbox_.end : EndOf(failure);
}

absl::StatusOr<RoleEnd> WorkerRole::Work() {
  // The data first: what is wrong with them is said at once, chief or no chief.
  WEIR_ASSIGN_OR_RETURN(Dataset data, setup_.job->TrainingData(InputOf(setup_)));
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<BatchIterator> batches, data.CreateIterator());
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                        setup_.job->CreateModel(setup_.options.batch_size));
  WEIR_RETURN_IF_ERROR(Join());
  WEIR_ASSIGN_OR_RETURN(const wire::ViewT view, WaitUntilReady());
  {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<DataClient> client, ConnectToShards(view));
    absl::StatusOr<TrainingResult> result = TrainOn(*client, *model, *batches);
    {
      MutexLock lock(&mutex_);
      client_ = nullptr;
    }
    WEIR_RETURN_IF_ERROR(result.status());
    if (result->end == TrainingResult::End::kInterrupted) return Interrupted();
    ReportFinished(*result, client->pushes_acknowledged());
  }
  return WaitForEnd();
}

absl::Status WorkerRole::Join() {
  const wire::JoinRequestT join = JoinRequestOf(setup_);
  incarnation_ = Incarnation(join.incarnation);
  WEIR_ASSIGN_OR_RETURN(session_, Session::Join({.chief_address = setup_.cluster.chief_address(),
                                                 .token = setup_.options.token,
                                                 .tls = setup_.tls,
                                                 .join = join,
                                                 .start_deadline = setup_.options.start_deadline},
                                                &StopSignal::received));
  return session_->Start(this);
}

absl::StatusOr<wire::ViewT> WorkerRole::WaitUntilReady() {
  MutexLock lock(&mutex_);
  while (true) {
    if (inbox_.end.has_value()) {
      return WithExitCode(absl::UnavailableError(inbox_.end->reason),
                          static_cast<ExitCode>(inbox_.end->exit_code));
    }
    if (StopSignal::received()) {
      return WithExitCode(absl::CancelledError(Interrupted().reason), ExitCode::kDone);
    }
    if (inbox_.view.has_value() && inbox_.view->ready) return *inbox_.view;
    changed_.WaitFor(&mutex_, absl::Seconds(1));
  }
}

absl::StatusOr<std::unique_ptr<DataClient>> WorkerRole::ConnectToShards(const wire::ViewT& view) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<net::Transport> transport, CreateTransport(setup_));
  DataClientOptions options;
  options.worker = WorkerIndex(static_cast<std::uint16_t>(setup_.task.index));
  options.incarnation = incarnation_;
  options.view = ViewNumber(view.number);
  options.host_id = HostId();
  options.transport_kind = TransportKind(setup_);
  options.ucx_version = net::UcxVersion();
  for (const auto& [index, address] : setup_.cluster.ps) {
    options.shard_names.push_back(Task{RoleType::kPs, index}.ToString());
  }
  const ShardCaller caller(setup_, view);
  // There is nobody to Abort before there is a client, so each attempt looks first.
  const auto connector =
      [&](ShardIndex shard,
          const wire::ConnectRequestT& request) -> absl::StatusOr<wire::ConnectReplyT> {
    if (MustEnd()) return absl::CancelledError("the job ended while the worker connected to it");
    return caller(shard, request);
  };
  WEIR_ASSIGN_OR_RETURN(
      std::unique_ptr<DataClient> client,
      DataClient::Connect(*setup_.layout, options, std::move(transport), connector));
  MutexLock lock(&mutex_);
  client_ = client.get();
  // Whatever came while the connections were made.
  if (inbox_.view.has_value()) client_->OnView(ViewNumber(inbox_.view->number));
  if (inbox_.end.has_value()) client_->Abort(absl::UnavailableError(inbox_.end->reason));
  return client;
}

absl::StatusOr<TrainingResult> WorkerRole::TrainOn(DataClient& client, Model& model,
                                                   BatchIterator& batches) {
  WEIR_ASSIGN_OR_RETURN(ParameterBuffer weights, client.AllocateParameters());
  WEIR_ASSIGN_OR_RETURN(ParameterBuffer gradients, client.AllocateParameters());
  const TrainerOptions options{.log_every = setup_.options.log_step_count_steps,
                               .log = [this](const TrainingLine& line) { ReportLine(line); },
                               .interrupted = &StopSignal::received,
                               // UCX knows the path once the first messages have wired it up.
                               .first_step = [&] { ReportPaths(client); }};
  return Train(options, client, model, batches, weights, gradients);
}

void WorkerRole::ReportPaths(const DataClient& client) {
  wire::PathsT paths;
  for (const auto& [shard, path] : client.paths()) {
    auto used = std::make_unique<wire::PathUsedT>();
    used->to_role = wire::Role::Ps;
    used->to_index =
        static_cast<std::uint32_t>(std::next(setup_.cluster.ps.begin(), shard.value())->first);
    used->path = path;
    LogInfo("path to ps ", used->to_index, ": ", path);
    paths.paths.push_back(std::move(used));
  }
  wire::MemberBodyUnion body;
  body.Set(std::move(paths));
  Report(std::move(body));
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
  Report(std::move(body));
}

void WorkerRole::ReportFinished(const TrainingResult& result, std::uint64_t acknowledged) {
  wire::FinishedT finished;
  finished.steps = result.steps;
  finished.pushes_acknowledged = acknowledged;
  finished.final_loss = result.final_loss;
  finished.reason =
      result.end == TrainingResult::End::kNoDataLeft ? "no data left" : "no steps left";
  LogInfo("finished after ", result.steps, " steps of its own: ", finished.reason);
  wire::MemberBodyUnion body;
  body.Set(std::move(finished));
  Report(std::move(body));
}

absl::StatusOr<RoleEnd> WorkerRole::WaitForEnd() {
  while (true) {
    std::optional<wire::EvaluateT> request;
    {
      MutexLock lock(&mutex_);
      if (inbox_.end.has_value()) return *inbox_.end;
      if (StopSignal::received()) return Interrupted();
      if (inbox_.evaluations.empty()) {
        changed_.WaitFor(&mutex_, absl::Seconds(1));
        continue;
      }
      request = std::move(inbox_.evaluations.front());
      inbox_.evaluations.pop_front();
    }
    EvaluateFor(*request);
  }
}

void WorkerRole::EvaluateFor(const wire::EvaluateT& request) {
  const absl::StatusOr<Evaluation> evaluation = [&]() -> absl::StatusOr<Evaluation> {
    WEIR_ASSIGN_OR_RETURN(Evaluator evaluator, Evaluator::Create(*setup_.job, InputOf(setup_),
                                                                 setup_.options.eval_steps));
    return evaluator.EvaluateCheckpoint(
        absl::StrCat(setup_.options.model_dir, "/", request.checkpoint),
        [this] { return MustEnd(); });
  }();
  if (absl::IsCancelled(evaluation.status())) return;
  wire::EvaluationDoneT done = ReportOf(request.step, evaluation);
  if (!done.error.empty()) {
    LogError("the evaluation of ", request.checkpoint, " failed: ", done.error);
  }
  wire::MemberBodyUnion body;
  body.Set(std::move(done));
  Report(std::move(body));
}

void WorkerRole::Report(wire::MemberBodyUnion body) {
  // The outbox holds a thousand messages: it is full only when the chief is frozen, and then the
  // lease ends this worker.
  if (!session_->Send(std::move(body))) LogDebug("a report to the chief was dropped");
}

bool WorkerRole::MustEnd() {
  MutexLock lock(&mutex_);
  return inbox_.end.has_value() || StopSignal::received();
}

RoleEnd WorkerRole::Interrupted() const {
  return {0, absl::StrCat(setup_.task.ToString(), " was told to stop; the others go on")};
}

void WorkerRole::OnView(const wire::ViewT& view) {
  MutexLock lock(&mutex_);
  inbox_.view = view;
  if (client_ != nullptr) client_->OnView(ViewNumber(view.number));
  changed_.NotifyAll();
}

void WorkerRole::OnCommand(const wire::ChiefMessageT& message) {
  const auto* evaluate = message.body.AsEvaluate();
  if (evaluate == nullptr) return;
  MutexLock lock(&mutex_);
  inbox_.evaluations.push_back(*evaluate);
  changed_.NotifyAll();
}

void WorkerRole::OnEnd(int exit_code, const std::string& reason) { SetEnd({exit_code, reason}); }

void WorkerRole::OnLost(const absl::Status& why) { SetEnd(EndOf(why)); }

void WorkerRole::SetEnd(RoleEnd end) {
  MutexLock lock(&mutex_);
  if (client_ != nullptr) client_->Abort(absl::UnavailableError(end.reason));
  if (!inbox_.end.has_value()) inbox_.end = std::move(end);
  changed_.NotifyAll();
}

}  // namespace weir
