#include "runtime/worker_member.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/version.h"
#include "common/rpc/client.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

// The chief takes no longer ones.
constexpr std::size_t kMostPathBytes = 1000;

/// Calls each shard's ps at the address that the view gives; one channel a ps, kept.
class ShardCaller {
 public:
  ShardCaller(const RoleSetup& setup, const wire::ViewT& view) : layout_(*setup.layout) {
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
    const auto server = static_cast<std::size_t>(layout_.server_of(shard));
    if (server >= clients_.size()) return absl::UnavailableError("no ps serves it yet");
    wire::ConnectRequestT addressed = request;
    addressed.thread = static_cast<std::uint32_t>(layout_.thread_of(shard));
    return clients_[server]->Connect(addressed, absl::Seconds(5));
  }

 private:
  const Layout& layout_;
  std::vector<std::shared_ptr<rpc::ShardClient>> clients_;
};

}  // namespace

WorkerMember::WorkerMember(RoleSetup setup, bool (*interrupted)())
    : setup_(std::move(setup)), interrupted_(interrupted) {}

// The session first: it calls this.
WorkerMember::~WorkerMember() { session_.reset(); }

absl::Status WorkerMember::Join() {
  const wire::JoinRequestT join = JoinRequestOf(setup_);
  incarnation_ = Incarnation(join.incarnation);
  WEIR_ASSIGN_OR_RETURN(session_, Session::Join({.chief_address = setup_.cluster.chief_address(),
                                                 .token = setup_.options.token,
                                                 .tls = setup_.tls,
                                                 .join = join,
                                                 .start_deadline = setup_.options.start_deadline},
                                                interrupted_));
  WEIR_RETURN_IF_ERROR(FollowChief(session_->welcome(), setup_));
  if (setup_.external()) WEIR_RETURN_IF_ERROR(TakeThreads(session_->welcome()));
  return session_->Start(this);
}

absl::Status WorkerMember::TakeThreads(const wire::JoinReplyT& welcome) {
  if (welcome.ps_threads == static_cast<std::uint32_t>(setup_.layout->threads())) {
    return absl::OkStatus();
  }
  const auto tensors = setup_.layout->tensors();
  auto layout = Layout::Create({tensors.begin(), tensors.end()}, setup_.layout->servers(),
                               static_cast<int>(std::min(welcome.ps_threads, 65536U)));
  WEIR_RETURN_IF_ERROR(WithExitCode(layout.status(), ExitCode::kBadUsage));
  layout_.emplace(*std::move(layout));
  setup_.layout = &*layout_;
  return absl::OkStatus();
}

absl::StatusOr<DataClient*> WorkerMember::Connect() {
  WEIR_ASSIGN_OR_RETURN(const wire::ViewT view, WaitUntilReady());
  absl::StatusOr<std::unique_ptr<DataClient>> client = ConnectToShards(view);
  MutexLock lock(&mutex_);
  if (!client.ok()) {
    // Where the job has ended, that is why.
    WEIR_RETURN_IF_ERROR(Ending());
    return client.status();
  }
  client_ = *std::move(client);
  // Whatever came while the connections were made.
  if (inbox_.view.has_value()) client_->OnView(ViewNumber(inbox_.view->number));
  if (inbox_.end.has_value()) client_->Abort(absl::UnavailableError(inbox_.end->reason));
  if (interrupted()) client_->Interrupt();
  return client_.get();
}

void WorkerMember::Disconnect() {
  std::unique_ptr<DataClient> client;
  MutexLock lock(&mutex_);
  client.swap(client_);
}

absl::Status WorkerMember::Ending() const {
  if (inbox_.end.has_value()) {
    return WithExitCode(absl::UnavailableError(inbox_.end->reason),
                        static_cast<ExitCode>(inbox_.end->exit_code));
  }
  if (interrupted()) {
    return WithExitCode(absl::CancelledError(Interrupted().reason), ExitCode::kDone);
  }
  return absl::OkStatus();
}

absl::StatusOr<wire::ViewT> WorkerMember::WaitUntilReady() {
  MutexLock lock(&mutex_);
  while (true) {
    WEIR_RETURN_IF_ERROR(Ending());
    if (inbox_.view.has_value() && inbox_.view->ready) return *inbox_.view;
    changed_.WaitFor(&mutex_, absl::Seconds(1));
  }
}

absl::StatusOr<std::unique_ptr<DataClient>> WorkerMember::ConnectToShards(const wire::ViewT& view) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<net::Transport> transport, CreateTransport(setup_));
  DataClientOptions options;
  options.worker = WorkerIndex(static_cast<std::uint16_t>(setup_.task.index));
  options.incarnation = incarnation_;
  options.view = ViewNumber(view.number);
  options.host_id = HostId();
  options.transport_kind = TransportKind(setup_);
  options.ucx_version = net::UcxVersion();
  options.mapping = MappingOf(setup_);
  options.one_sided_reads = OneSidedReadsOf(setup_);
  for (const auto& [index, address] : setup_.cluster.ps) {
    const std::string ps = Task{RoleType::kPs, index}.ToString();
    const int threads = setup_.layout->threads();
    for (int t = 0; t < threads; ++t) {
      options.shard_names.push_back(threads == 1 ? ps : absl::StrCat(ps, " thread ", t));
    }
  }
  const ShardCaller caller(setup_, view);
  // There is nobody to Abort before there is a client, so each attempt looks first.
  const auto connector =
      [&](ShardIndex shard,
          const wire::ConnectRequestT& request) -> absl::StatusOr<wire::ConnectReplyT> {
    if (MustEnd()) return absl::CancelledError("the job ended while the worker connected to it");
    return caller(shard, request);
  };
  return DataClient::Connect(*setup_.layout, options, std::move(transport), connector);
}

void WorkerMember::Report(wire::MemberBodyUnion body) {
  if (!session_->Send(std::move(body))) LogDebug("a report to the chief was dropped");
}

void WorkerMember::OnPush() {
  if (std::has_single_bit(++pushes_)) ReportPaths();
}

void WorkerMember::ReportPaths() {
  // By index of the ps: the threads of one are reached alike, or it is said of those that are not.
  std::vector<std::pair<std::uint32_t, std::string>> paths;
  {
    MutexLock lock(&mutex_);
    for (const auto& [shard, path] : client_->paths()) {
      const int server = setup_.layout->server_of(shard);
      std::pair used(
          static_cast<std::uint32_t>(std::next(setup_.cluster.ps.begin(), server)->first),
          path.substr(0, kMostPathBytes));
      if (paths.empty() || paths.back() != used) paths.push_back(std::move(used));
    }
  }
  if (paths == reported_paths_) return;
  wire::PathsT report;
  for (const auto& [index, path] : paths) {
    LogInfo("path to ps ", index, ": ", path);
    auto used = std::make_unique<wire::PathUsedT>();
    used->to_role = wire::Role::Ps;
    used->to_index = index;
    used->path = path;
    report.paths.push_back(std::move(used));
  }
  reported_paths_ = std::move(paths);
  wire::MemberBodyUnion body;
  body.Set(std::move(report));
  Report(std::move(body));
}

void WorkerMember::ReportFinished(wire::FinishedT finished) {
  LogInfo("finished after ", finished.steps, " steps of its own: ", finished.reason);
  wire::MemberBodyUnion body;
  body.Set(std::move(finished));
  Report(std::move(body));
}

bool WorkerMember::MustEnd() {
  MutexLock lock(&mutex_);
  return inbox_.end.has_value() || interrupted();
}

WorkerMember::Next WorkerMember::WaitForNext() {
  MutexLock lock(&mutex_);
  while (true) {
    if (inbox_.end.has_value()) return {.end = inbox_.end};
    if (interrupted()) return {.end = Interrupted()};
    if (!inbox_.evaluations.empty()) {
      Next next{.evaluate = std::move(inbox_.evaluations.front())};
      inbox_.evaluations.pop_front();
      return next;
    }
    changed_.WaitFor(&mutex_, absl::Seconds(1));
  }
}

RoleEnd WorkerMember::CauseOf(const absl::Status& failure) {
  absl::Duration patience = absl::ZeroDuration();
  if (session_ && ExitCodeOf(failure) == ExitCode::kPeerLost) {
    patience = absl::Milliseconds(session_->welcome().lease_ms) + absl::Milliseconds(500);
  }
  const absl::Time give_up = MonotonicNow() + patience;
  MutexLock lock(&mutex_);
  while (!inbox_.end.has_value() && !interrupted() && MonotonicNow() < give_up) {
    changed_.WaitFor(&mutex_, give_up - MonotonicNow());
  }
  return inbox_.end.has_value() ? *inbox_.end : EndOf(failure);
}

RoleEnd WorkerMember::Interrupted() const {
  return {0, absl::StrCat(setup_.task.ToString(), " was told to stop; the others go on")};
}

void WorkerMember::Leave(const RoleEnd& end) {
  if (session_) session_->Leave(end.exit_code, end.reason, absl::Seconds(2));
}

void WorkerMember::Wake() {
  MutexLock lock(&mutex_);
  if (client_ != nullptr && interrupted()) client_->Interrupt();
  changed_.NotifyAll();
}

void WorkerMember::OnView(const wire::ViewT& view) {
  MutexLock lock(&mutex_);
  inbox_.view = view;
  if (client_ != nullptr) client_->OnView(ViewNumber(view.number));
  changed_.NotifyAll();
}

void WorkerMember::OnCommand(const wire::ChiefMessageT& message) {
  const auto* evaluate = message.body.AsEvaluate();
  if (evaluate == nullptr) return;
  MutexLock lock(&mutex_);
  inbox_.evaluations.push_back(*evaluate);
  changed_.NotifyAll();
}

void WorkerMember::OnEnd(int exit_code, const std::string& reason) { SetEnd({exit_code, reason}); }

void WorkerMember::OnLost(const absl::Status& why) { SetEnd(EndOf(why)); }

void WorkerMember::SetEnd(RoleEnd end) {
  MutexLock lock(&mutex_);
  if (client_ != nullptr) client_->Abort(absl::UnavailableError(end.reason));
  if (!inbox_.end.has_value()) inbox_.end = std::move(end);
  changed_.NotifyAll();
}

}  // namespace weir
