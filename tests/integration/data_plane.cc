#include "tests/integration/data_plane.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "common/base/clock.h"
#include "common/model/protocol.h"
#include "common/net/ucx/ucx_transport.h"
#include "common/net/ucx/version.h"
#include "ps_server/threaded_server.h"

namespace weir::testing {
namespace {

constexpr absl::Duration kReportLimit = absl::Seconds(20);
constexpr char kHost[] = "this host";

// Not an assertion: a constructor cannot return, and what follows would crash anyway.
template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "cannot set up the test: %s\n", value.status().ToString().c_str());
  std::abort();
}

bool IsLoopback(Fabric fabric) {
  return fabric == Fabric::kLoopback || fabric == Fabric::kLoopbackMapped ||
         fabric == Fabric::kLoopbackOneSided;
}

std::string KindOf(Fabric fabric) { return IsLoopback(fabric) ? "loopback" : "ucx"; }

net::UcxFabric UcxFabricOf(Fabric fabric) {
  switch (fabric) {
    case Fabric::kUcxShm:
    case Fabric::kUcxShmMapped:
      return net::UcxFabric::kShm;
    case Fabric::kUcxTcpMapped:
      return net::UcxFabric::kTcpMapped;
    case Fabric::kUcxRdma:
      return net::UcxFabric::kRdma;
    default:
      return net::UcxFabric::kTcp;
  }
}

std::string UcxVersionOf(Fabric fabric) { return IsLoopback(fabric) ? "" : net::UcxVersion(); }

}  // namespace

bool IsMapped(Fabric fabric) {
  return fabric == Fabric::kLoopbackMapped || fabric == Fabric::kUcxTcpMapped ||
         fabric == Fabric::kUcxShmMapped;
}

bool IsOneSided(Fabric fabric) {
  return fabric == Fabric::kLoopbackOneSided || fabric == Fabric::kUcxRdma;
}

std::string NameOf(Fabric fabric) {
  switch (fabric) {
    case Fabric::kLoopback:
      return "Loopback";
    case Fabric::kUcxTcp:
      return "UcxTcp";
    case Fabric::kUcxShm:
      return "UcxShm";
    case Fabric::kLoopbackMapped:
      return "LoopbackMapped";
    case Fabric::kUcxTcpMapped:
      return "UcxTcpMapped";
    case Fabric::kUcxShmMapped:
      return "UcxShmMapped";
    case Fabric::kLoopbackOneSided:
      return "LoopbackOneSided";
    case Fabric::kUcxRdma:
      return "UcxRdma";
  }
  return "";
}

std::ostream& operator<<(std::ostream& out, Fabric fabric) { return out << NameOf(fabric); }

DataPlane::DataPlane(Layout layout, DataPlaneOptions options)
    : layout_(std::move(layout)),
      options_(std::move(options)),
      loopback_(net::LoopbackFabric::Create()),
      joined_(static_cast<std::size_t>(options_.max_workers)) {
  for (int s = 0; s < layout_.servers(); ++s) {
    ps::ServerOptions server;
    server.shard.max_workers = options_.max_workers;
    server.shard.start_step = options_.start_step;
    server.shard.max_steps = options_.max_steps;
    server.shard.learning_rate = options_.learning_rate;
    server.incarnation = Incarnation(RandomId());
    server.host_id = kHost;
    server.transport_kind = KindOf(options_.fabric);
    server.ucx_version = UcxVersionOf(options_.fabric);
    server.notify_steps = options_.notify_steps;
    const ps::BlockLoader zeros = [](const Block&, std::span<float>) { return absl::OkStatus(); };
    const auto create_transport = [this] {
      std::unique_ptr<net::Transport> transport = CreateTransport();
      if (options_.held_gets != nullptr) {
        transport = std::make_unique<HoldingTransport>(std::move(transport), options_.held_gets);
      }
      return transport;
    };
    servers_.push_back(OrDie(ps::CreateThreadedServer(
        layout_, s, server, create_transport, options_.loader ? options_.loader : zeros,
        [this](wire::MemberBodyUnion body) { Report(std::move(body)); })));
  }
}

DataPlane::~DataPlane() {
  Thaw();
  servers_.clear();
}

void DataPlane::Join(WorkerIndex worker) {
  MutexLock lock(&mutex_);
  joined_[worker.value()] = Incarnation(RandomId());
  Publish();
}

void DataPlane::Leave(WorkerIndex worker) {
  MutexLock lock(&mutex_);
  joined_[worker.value()].reset();
  Publish();
}

ViewNumber DataPlane::view() const {
  MutexLock lock(&mutex_);
  return view_;
}

void DataPlane::Publish() {
  view_ = view_.next();
  wire::ViewT view;
  view.number = view_.value();
  view.ready = true;
  for (std::size_t w = 0; w < joined_.size(); ++w) {
    if (!joined_[w].has_value()) continue;
    auto member = std::make_unique<wire::MemberT>();
    member->role = wire::Role::Worker;
    member->index = static_cast<std::uint32_t>(w);
    member->incarnation = joined_[w]->value();
    member->state = "joined";
    view.members.push_back(std::move(member));
  }
  for (const auto& server : servers_) {
    if (server) server->OnView(view);
  }
  for (DataClient* client : clients_) client->OnView(view_);
}

DataPlane::ClientPtr DataPlane::Connect(WorkerIndex worker) {
  return OrDie(TryConnect(OptionsOf(worker), connector()));
}

absl::StatusOr<DataPlane::ClientPtr> DataPlane::TryConnect(const DataClientOptions& options,
                                                           const ShardConnector& connector) {
  auto client = DataClient::Connect(layout_, options, CreateTransport(), connector);
  if (!client.ok()) return client.status();
  MutexLock lock(&mutex_);
  clients_.push_back(client->get());
  // Whatever came while the connections were made.
  (*client)->OnView(view_);
  return ClientPtr(client->release(), {this});
}

void DataPlane::ClientDeleter::operator()(DataClient* client) const {
  {
    MutexLock lock(&plane->mutex_);
    std::erase(plane->clients_, client);
  }
  delete client;
}

DataClientOptions DataPlane::OptionsOf(WorkerIndex worker) const {
  MutexLock lock(&mutex_);
  return {.worker = worker,
          .incarnation = joined_[worker.value()].value_or(Incarnation(1)),
          .view = view_,
          .host_id = kHost,
          .transport_kind = KindOf(options_.fabric),
          .ucx_version = UcxVersionOf(options_.fabric),
          .mapping = IsMapped(options_.fabric) ? Mapping::kRequired : Mapping::kNever,
          .one_sided_reads =
              IsOneSided(options_.fabric) ? OneSidedReads::kRequired : OneSidedReads::kNever,
          .connect_deadline = absl::Seconds(10),
          .request_deadline = absl::Seconds(20)};
}

absl::StatusOr<wire::ConnectReplyT> DataPlane::Call(ShardIndex shard,
                                                    const wire::ConnectRequestT& request) {
  wire::ConnectRequestT addressed = request;
  addressed.thread = static_cast<std::uint32_t>(layout_.thread_of(shard));
  return servers_[static_cast<std::size_t>(layout_.server_of(shard))]->Connect(addressed);
}

ShardConnector DataPlane::connector() {
  return [this](ShardIndex shard, const wire::ConnectRequestT& request) {
    return Call(shard, request);
  };
}

wire::ConnectRequestT DataPlane::RequestOf(WorkerIndex worker) const {
  const DataClientOptions options = OptionsOf(worker);
  wire::ConnectRequestT request;
  request.protocol = kProtocolVersion;
  request.ucx_version = options.ucx_version;
  request.worker = worker.value();
  request.incarnation = options.incarnation.value();
  request.host_id = kHost;
  request.view = options.view.value();
  request.layout_fingerprint = layout_.fingerprint();
  request.transport = options.transport_kind;
  return request;
}

std::unique_ptr<net::Transport> DataPlane::CreateTransport() const {
  if (IsLoopback(options_.fabric)) return loopback_->CreateTransport();
  return OrDie(
      net::UcxTransport::Create({.fabric = UcxFabricOf(options_.fabric), .loopback_only = true}));
}

void DataPlane::Report(wire::MemberBodyUnion body) {
  if (options_.on_stats && body.AsStats() != nullptr) return options_.on_stats();
  MutexLock lock(&report_mutex_);
  if (to_freeze_ > 0 && body.AsStats() != nullptr) {
    --to_freeze_;
    ++freezes_;
    const int thaws = thaws_;
    reported_.NotifyAll();
    while (thaws_ == thaws) reported_.Wait(&report_mutex_);
    return;
  }
  reports_.push_back(std::move(body));
  reported_.NotifyAll();
}

bool DataPlane::WaitForReport(const std::function<bool(const wire::MemberBodyUnion&)>& matches) {
  const absl::Time limit = MonotonicNow() + kReportLimit;
  MutexLock lock(&report_mutex_);
  while (!std::ranges::any_of(reports_, matches)) {
    if (MonotonicNow() >= limit) return false;
    reported_.WaitFor(&report_mutex_, limit - MonotonicNow());
  }
  return true;
}

bool DataPlane::WaitForStep(Step step) {
  return WaitForReport([step](const wire::MemberBodyUnion& body) {
    const auto* reached = body.AsStepReached();
    return reached != nullptr && reached->step >= step.value();
  });
}

void DataPlane::Freeze(int shard) {
  MutexLock lock(&report_mutex_);
  ++to_freeze_;
  const int freezes = freezes_;
  server(shard).SendStats();
  while (freezes_ == freezes) reported_.Wait(&report_mutex_);
}

void DataPlane::Thaw() {
  MutexLock lock(&report_mutex_);
  ++thaws_;
  reported_.NotifyAll();
}

void Within(absl::Duration limit, const std::function<void()>& work) {
  std::future<void> done = std::async(std::launch::async, work);
  Await(done, limit);
}

void Hang(absl::Duration limit) {
  std::fflush(stdout);
  std::fprintf(stderr, "a thread did not end within %s\n", absl::FormatDuration(limit).c_str());
  std::abort();
}

TensorSpec Tensor(std::string name, std::vector<std::int64_t> shape) {
  return {.name = std::move(name), .shape = std::move(shape)};
}

}  // namespace weir::testing
