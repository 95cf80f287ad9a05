#include "runtime/ps_role.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/checkpoint_name.h"
#include "common/checkpoint/checkpoint_reader.h"
#include "common/checkpoint/model_dir.h"
#include "common/model/initializer.h"
#include "common/net/ucx/version.h"
#include "ps_server/threaded_server.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

/// First values of a block: the checkpoint's where there is one, else the initializer's.
class WeightSource {
 public:
  static absl::StatusOr<WeightSource> Open(const RoleSetup& setup, const std::string& checkpoint) {
    WeightSource source(*setup.layout, setup.options.seed);
    if (!checkpoint.empty()) {
      WEIR_ASSIGN_OR_RETURN(source.reader_, CheckpointReader::Open(absl::StrCat(
                                                setup.options.model_dir, "/", checkpoint)));
      WEIR_RETURN_IF_ERROR(source.reader_->Check(setup.layout->tensors()));
    }
    return source;
  }

  absl::Status Load(const Block& block, std::span<float> values) {
    if (reader_.has_value())
      return reader_->ReadRange(layout_.tensors()[block.tensor].name, block.offset, values);
    InitializeTensor(layout_.tensors()[block.tensor], seed_, block.offset, values);
    return absl::OkStatus();
  }

 private:
  WeightSource(const Layout& layout, std::uint64_t seed) : layout_(layout), seed_(seed) {}
  const Layout& layout_;
  std::uint64_t seed_;
  std::optional<CheckpointReader> reader_;
};

// A network file system may show the chief's file some seconds late.
absl::Status AwaitNonce(const std::string& model_dir, const std::string& nonce) {
  const absl::Time give_up = MonotonicNow() + absl::Seconds(4);
  while (true) {
    absl::Status found = CheckNonce(model_dir, nonce);
    if (found.ok() || MonotonicNow() >= give_up || StopSignal::received()) return found;
    absl::SleepFor(absl::Milliseconds(200));
  }
}

std::uint64_t NotifySteps(const JobOptions& options) {
  // A multiple of all that the chief does by steps; it hears of the rest with the heartbeats.
  const std::uint64_t steps =
      std::gcd(options.log_step_count_steps, options.save_checkpoints_steps);
  return steps == 0 ? 1000 : steps;
}

}  // namespace

RoleEnd PsRole::Run(StopSignal& stop, const std::string& own_address) {
  setup_.own_address = own_address;
  absl::StatusOr<RoleEnd> end = Serve(stop);
  const RoleEnd result = end.ok() ? *end : EndOf(end.status());
  if (session_) session_->Leave(result.exit_code, result.reason, absl::Seconds(2));
  std::shared_ptr<ps::Server> server;
  {
    MutexLock lock(&mutex_);
    server = std::exchange(server_, nullptr);
  }
  if (server) server->Stop();
  return result;
}

absl::StatusOr<RoleEnd> PsRole::Serve(StopSignal& stop) {
  const wire::JoinRequestT join = JoinRequestOf(setup_);
  WEIR_ASSIGN_OR_RETURN(session_, Session::Join({.chief_address = setup_.cluster.chief_address(),
                                                 .token = setup_.options.token,
                                                 .tls = setup_.tls,
                                                 .join = join,
                                                 .start_deadline = setup_.options.start_deadline},
                                                &StopSignal::received));
  const wire::JoinReplyT& welcome = session_->welcome();
  WEIR_RETURN_IF_ERROR(FollowChief(welcome, setup_));
  WEIR_RETURN_IF_ERROR(AwaitNonce(setup_.options.model_dir, welcome.model_dir_nonce));
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<ps::Server> server, CreateServer(welcome));
  Publish(std::move(server));
  WEIR_RETURN_IF_ERROR(session_->Start(this));
  const StopSignal::Registration registration = stop.OnStop([this] {
    wire::StopRequestedT request;
    request.reason = absl::StrCat(setup_.task.ToString(), " was told to stop");
    wire::MemberBodyUnion body;
    body.Set(std::move(request));
    session_->Send(std::move(body));
  });
  return WaitForEnd();
}

absl::StatusOr<std::shared_ptr<ps::Server>> PsRole::CreateServer(const wire::JoinReplyT& welcome) {
  ps::ServerOptions options;
  options.shard.max_workers = WorkerIndexBound(setup_.cluster);
  options.shard.start_step = Step(welcome.start_step);
  options.shard.max_steps = Step(setup_.max_steps);
  options.shard.learning_rate = setup_.options.learning_rate;
  options.incarnation = Incarnation(RandomId());
  options.host_id = HostId();
  options.transport_kind = TransportKind(setup_);
  options.ucx_version = net::UcxVersion();
  options.notify_steps = NotifySteps(setup_.options);

  WEIR_ASSIGN_OR_RETURN(WeightSource source, WeightSource::Open(setup_, welcome.resume_checkpoint));
  const Layout& layout = *setup_.layout;
  const int rank = PsRank(setup_.cluster, setup_.task.index);
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ps::Server> server,
                        ps::CreateThreadedServer(
                            layout, rank, options, [this] { return CreateTransport(setup_); },
                            [&source](const Block& block, std::span<float> values) {
                              return source.Load(block, values);
                            },
                            [this](wire::MemberBodyUnion body) {
                              // The outbox holds a thousand messages: it is full only when the
                              // chief is frozen, and then the lease ends this ps.
                              if (!session_->Send(std::move(body)))
                                LogDebug("a report to the chief was dropped");
                            }));
  std::size_t blocks = 0;
  std::int64_t bytes = 0;
  for (int t = 0; t < layout.threads(); ++t) {
    blocks += layout.blocks_of(layout.shard_of(rank, t)).size();
    bytes += layout.bytes_of(layout.shard_of(rank, t));
  }
  LogInfo("serving ", blocks, " blocks, ", bytes, " bytes",
          layout.threads() > 1 ? absl::StrCat(", on ", layout.threads(), " threads") : "",
          welcome.resume_checkpoint.empty()
              ? ""
              : absl::StrCat(", resumed from ", welcome.resume_checkpoint));
  return std::shared_ptr<ps::Server>(std::move(server));
}

RoleEnd PsRole::WaitForEnd() {
  std::optional<RoleEnd> end;
  while (!(end = end_.WaitFor(absl::Milliseconds(500))).has_value()) {
    std::shared_ptr<ps::Server> server;
    {
      MutexLock lock(&mutex_);
      server = server_;
    }
    session_->SetProgress(server->global_step().value(), 0);
  }
  return *end;
}

void PsRole::Publish(std::shared_ptr<ps::Server> server) {
  MutexLock lock(&mutex_);
  server_ = std::move(server);
}

absl::StatusOr<wire::ConnectReplyT> PsRole::Connect(const wire::ConnectRequestT& request) {
  std::shared_ptr<ps::Server> server;
  {
    MutexLock lock(&mutex_);
    server = server_;
  }
  if (server) return server->Connect(request);
  wire::ConnectReplyT reply;
  reply.retry = true;
  reply.reason = absl::StrCat(setup_.task.ToString(), " is not serving yet");
  return reply;
}

// The listener is called between Session::Start and Leave; the server is there all that time.
void PsRole::OnView(const wire::ViewT& view) {
  MutexLock lock(&mutex_);
  server_->OnView(view);
}

void PsRole::OnCommand(const wire::ChiefMessageT& message) {
  MutexLock lock(&mutex_);
  if (const auto* take = message.body.AsTakeCheckpoint()) {
    if (!StepOfCheckpointFolder(take->folder).has_value() || absl::StrContains(take->folder, '/')) {
      LogError("the chief asked for a checkpoint named '", take->folder,
               "': not a checkpoint's name");
      return;
    }
    server_->TakeCheckpoint(take->id, absl::StrCat(setup_.options.model_dir, "/", take->folder));
  } else if (message.body.AsStopTraining() != nullptr) {
    server_->StopTraining();
  } else if (message.body.AsSendStats() != nullptr) {
    server_->SendStats();
  }
}

void PsRole::OnEnd(int exit_code, const std::string& reason) { end_.Set({exit_code, reason}); }

void PsRole::OnLost(const absl::Status& why) { end_.Set(EndOf(why)); }

}  // namespace weir
