#include "ps_server/server.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/bounded_queue.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/occurrences.h"
#include "common/base/status_macros.h"
#include "common/net/wire_message.h"
#include "ps_server/checkpoint_writer.h"
#include "ps_server/logic/admission.h"
#include "ps_server/logic/connections.h"
#include "ps_server/push_intake.h"
#include "ps_server/send_slab.h"
#include "ps_server/shard_stats.h"

namespace weir::ps {
namespace {

// A cut pins every block until it is written: that many spares let pushes go on without waiting.
// Above this (57 MB of them) a push may be told to come again while the disk catches up.
constexpr std::size_t kMostCheckpointSpares = 256;
// The same for sends that wait for their sockets. Only stuck workers could use up more.
constexpr std::size_t kMostSendSpares = 256;
// Answers to one worker that its socket has not taken. Credits keep a correct worker far below.
constexpr int kMostAnswersUnderWay = 4096;
// The tokens of answers: this plus the worker's index. Those of blocks are the slab's, from 0.
constexpr std::uint64_t kAnswerTokens = std::uint64_t{1} << 63;

int SpareSlots(const Layout& layout, const ShardOptions& options) {
  const std::size_t blocks = layout.blocks_of(options.shard).size();
  const auto workers = static_cast<std::size_t>(options.max_workers);
  const std::size_t sends =
      workers * std::min(blocks, static_cast<std::size_t>(options.pull_credits));
  return static_cast<int>(std::min(sends, kMostSendSpares) +
                          std::min(blocks, kMostCheckpointSpares));
}

std::int64_t MicrosSince(absl::Time start) {
  return absl::ToInt64Microseconds(MonotonicNow() - start);
}

class ServerImpl final : public Server,
                         public ShardOutput,
                         public PushIntake::Sessions,
                         public net::TransportEvents {
 public:
  ServerImpl(const Layout& layout, const ServerOptions& options,
             std::unique_ptr<net::Transport> transport, std::unique_ptr<net::Memory> memory,
             Report report)
      : layout_(layout),
        options_(options),
        report_(std::move(report)),
        transport_(std::move(transport)),
        data_address_(transport_->address()),
        memory_(std::move(memory)),
        store_(layout, options.shard.shard, memory_ ? SpareSlots(layout, options.shard) : 0,
               memory_ ? memory_->bytes() : MutableByteSpan()),
        counters_(options.shard.max_workers),
        admission_({.transport_kind = options.transport_kind,
                    .ucx_version = options.ucx_version,
                    .layout_fingerprint = layout.fingerprint(),
                    .max_workers = options.shard.max_workers}),
        connections_(options.shard.max_workers),
        answers_under_way_(static_cast<std::size_t>(options.shard.max_workers)),
        shard_(layout, options.shard, store_, counters_, *this),
        intake_(layout, options.shard, *transport_, shard_, *this),
        writer_(
            layout, options.shard.shard,
            [this](BlockPin pin) { Post([this, pin] { ReleaseSnapshotBlock(pin); }); },
            [this](wire::CheckpointDoneT done) { CheckpointDone(std::move(done)); }) {}

  ~ServerImpl() override {
    Stop();
    intake_.Clear();
    // First of all: it reports sends and gets that are still under way, and may use their memory
    // till then.
    transport_.reset();
  }

  absl::Status Load(const BlockLoader& loader) {
    for (BlockId id : layout_.blocks_of(options_.shard.shard)) {
      WEIR_RETURN_IF_ERROR(loader(layout_.block(id), store_.InitialValues(id)));
    }
    store_.Identify(options_.incarnation);
    return absl::OkStatus();
  }

  void Start() {
    thread_ = std::jthread([this] { Run(); });
  }

  wire::ConnectReplyT Connect(const wire::ConnectRequestT& request) override {
    wire::ConnectReplyT reply = BlankReply();
    if (std::string refusal = admission_.RefusalOf(request); !refusal.empty()) {
      reply.reason = std::move(refusal);
      return reply;
    }
    auto answer = std::make_shared<std::promise<wire::ConnectReplyT>>();
    std::future<wire::ConnectReplyT> future = answer->get_future();
    if (Post([this, request, answer] { answer->set_value(ConnectOnOwner(request)); }) &&
        future.wait_for(std::chrono::seconds(5)) == std::future_status::ready) {
      return future.get();
    }
    reply.retry = true;
    reply.reason = "this ps is too busy, or is stopping";
    return reply;
  }

  void OnView(const wire::ViewT& view) override {
    std::vector<LiveWorker> workers;
    for (const auto& member : view.members) {
      if (member->role == wire::Role::Worker && member->state == "joined" &&
          std::cmp_less(member->index, options_.shard.max_workers)) {
        workers.push_back({WorkerIndex(static_cast<std::uint16_t>(member->index)),
                           Incarnation(member->incarnation)});
      }
    }
    Post([this, number = ViewNumber(view.number), workers = std::move(workers)] {
      ApplyView(number, workers);
    });
  }

  void TakeCheckpoint(std::uint32_t id, const std::string& folder) override {
    Post([this, id, folder] {
      // The chief gave up on an earlier one that is still being written: this one waits for it.
      if (const auto overtaken = std::exchange(next_checkpoint_, CheckpointRequest{id, folder})) {
        ReportNotTaken(*overtaken, "a later one was asked for before its turn came");
      }
      StartCheckpoint();
    });
  }

  void StopTraining() override {
    Post([this] { shard_.StopTraining(); });
  }

  void SendStats() override {
    Post([this] {
      wire::StatsT stats;
      stats.thread = static_cast<std::uint32_t>(options_.thread);
      stats.stats = std::make_unique<wire::ShardStatsT>(Stats());
      wire::MemberBodyUnion body;
      body.Set(std::move(stats));
      report_(std::move(body));
    });
  }

  Step global_step() const override {
    return Step(counters_.global_step.load(std::memory_order_relaxed));
  }

  std::uint64_t strangers_messages() const override {
    return strangers_messages_.load(std::memory_order_relaxed);
  }

  void Stop() override {
    writer_.Stop();
    mailbox_.Close();
    transport_->Wake();
    if (thread_.joinable()) thread_.join();
  }

 private:
  // --- the owner thread
  void Run() {
    while (!mailbox_.closed()) {
      const bool busy = transport_->Progress(*this);
      const bool told = RunMailbox();
      ReturnOrphans();
      CloseExpired();
      MapGradients();
      if (!busy && !told && intake_.idle()) transport_->Wait(absl::Seconds(1));
    }
    RunMailbox();
    store_.Close();
    Quiesce();
  }

  // Sends read the shard's memory, and gets write to it: close by force and see every one of them
  // end before it goes.
  void Quiesce() {
    for (const Connection& connection : connections_.All()) Close(connection);
    const absl::Time give_up = MonotonicNow() + absl::Seconds(5);
    while (sends_.in_use() + intake_.gets_under_way() > 0 && MonotonicNow() < give_up) {
      if (!transport_->Progress(*this)) transport_->Wait(absl::Milliseconds(10));
    }
  }

  bool RunMailbox() {
    bool any = false;
    while (auto task = mailbox_.TryPop()) {
      (*task)();
      any = true;
    }
    return any;
  }

  bool Post(std::function<void()> task) {
    if (!mailbox_.Push(std::move(task))) return false;
    transport_->Wake();
    return true;
  }

  // --- checkpoints
  struct CheckpointRequest {
    std::uint32_t id = 0;
    std::string folder;
  };

  void StartCheckpoint() {
    if (!next_checkpoint_.has_value() || shard_.snapshot_under_way()) return;
    const CheckpointRequest request = *std::exchange(next_checkpoint_, std::nullopt);
    CheckpointWriter::Task task{
        .id = request.id, .folder = request.folder, .snapshot = shard_.BeginSnapshot()};
    if (writer_.TryStart(std::move(task))) return;
    for (const BlockPin& pin : task.snapshot.pins) shard_.ReleaseSnapshotBlock(pin);
    ReportNotTaken(request, "this ps is stopping, or still writes earlier ones");
  }

  void ReleaseSnapshotBlock(BlockPin pin) {
    shard_.ReleaseSnapshotBlock(pin);
    StartCheckpoint();
  }

  void ReportNotTaken(const CheckpointRequest& request, const std::string& why) {
    wire::CheckpointDoneT done;
    done.id = request.id;
    done.error = why;
    CheckpointDone(std::move(done));
  }

  // --- connections
  wire::ConnectReplyT BlankReply() const {
    wire::ConnectReplyT reply;
    reply.shard = options_.shard.shard.value();
    reply.incarnation = options_.incarnation.value();
    reply.host_id = options_.host_id;
    reply.push_credits = static_cast<std::uint32_t>(options_.shard.push_credits);
    reply.pull_credits = static_cast<std::uint32_t>(options_.shard.pull_credits);
    return reply;
  }

  wire::ConnectReplyT ConnectOnOwner(const wire::ConnectRequestT& request) {
    wire::ConnectReplyT reply = BlankReply();
    reply.reason = admission_.ReasonToWait(request);
    reply.retry = !reply.reason.empty();
    if (reply.retry) return reply;
    const WorkerIndex worker(static_cast<std::uint16_t>(request.worker));
    const auto peer =
        transport_->Connect(std::string(request.data_address.begin(), request.data_address.end()),
                            absl::StrCat("worker ", request.worker));
    if (!peer.ok()) {
      reply.reason = std::string(peer.status().message());
      return reply;
    }
    const Connection connection{.worker = worker,
                                .incarnation = Incarnation(request.incarnation),
                                .peer = *peer,
                                .session = RandomId()};
    if (const auto replaced = connections_.Open(connection)) Release(*replaced);
    if (!request.sample_key.empty()) {
      reply.not_mapped = intake_.WhyNotMapped(*peer, std::as_bytes(std::span(request.sample_key)),
                                              request.sample_bytes);
    }
    reply.accepted = true;
    reply.view = shard_.view().value();
    reply.session = connection.session;
    reply.data_address.assign(data_address_.begin(), data_address_.end());
    if (memory_ != nullptr) {
      reply.arena_key.assign(memory_->remote_key().begin(), memory_->remote_key().end());
      reply.arena_bytes = memory_->bytes().size();
    }
    return reply;
  }

  void ApplyView(ViewNumber number, const std::vector<LiveWorker>& workers) {
    if (!admission_.OnView(number, workers)) return;
    shard_.OnView(number, workers);
    for (const Connection& connection : connections_.OnView(admission_, MonotonicNow())) {
      Release(connection);
    }
  }

  void CloseExpired() {
    if (!connections_.any_fenced()) return;
    for (const Connection& connection : connections_.TakeExpired(MonotonicNow())) {
      Release(connection);
    }
  }

  /// By value: the table's own entry goes.
  void Close(Connection connection) {
    Release(connection);
    connections_.Remove(connection.session);
  }

  void Release(const Connection& connection) {
    transport_->Disconnect(connection.peer);
    intake_.Forget(connection.session);
  }

  void MapGradients() {
    const auto answer = intake_.Work();
    if (!answer.has_value()) return;
    const Connection* connection = connections_.OfSession(answer->session());
    if (connection == nullptr) return;
    SendHeader(connection->worker, wire::MessageType::MemoryMapped, *answer);
  }

  // --- net::TransportEvents
  void OnMessage(std::uint8_t type, ByteSpan header, ByteSpan payload) override {
    switch (static_cast<wire::MessageType>(type)) {
      case wire::MessageType::PushBlock:
        Dispatch<wire::PushBlock>(header, [&](const Connection& from, const wire::PushBlock& push) {
          intake_.OnPush(from, push, payload);
        });
        return;
      case wire::MessageType::ExportMemory:
        Dispatch<wire::ExportMemory>(header,
                                     [&](const Connection& from, const wire::ExportMemory& memory) {
                                       intake_.OnExport(from, memory, payload);
                                     });
        return;
      case wire::MessageType::PullRequest:
        Dispatch<wire::PullRequest>(header,
                                    [&](const Connection& from, const wire::PullRequest& pull) {
                                      shard_.OnPull(from.worker, pull);
                                    });
        return;
      case wire::MessageType::TicketRequest:
        Dispatch<wire::TicketRequest>(
            header, [&](const Connection& from, const wire::TicketRequest& request) {
              shard_.OnTicket(from.worker, request);
            });
        return;
      default:
        if (const Connection* from = SenderOf(header)) {
          CloseLiar(from->session, absl::StrCat("a message of type ", type));
        }
    }
  }

  // The session is what binds a message to a worker that came through Connect: before it was found,
  // nothing in the message counts (docs/security.md).
  template <typename Struct, typename Handler>
  void Dispatch(ByteSpan bytes, Handler handler) {
    const Connection* from = SenderOf(bytes);
    if (from == nullptr || !Enter(from->session)) return;
    if (const auto header = net::ReadHeader<Struct>(bytes)) return handler(*from, *header);
    CloseLiar(from->session, absl::StrCat("a header of ", bytes.size(), " bytes where there are ",
                                          sizeof(Struct)));
  }

  /// Null: nobody's, and dropped.
  const Connection* SenderOf(ByteSpan header) {
    const std::uint64_t session = net::SessionOf(header);
    const Connection* connection = connections_.OfSession(session);
    if (connection == nullptr) DropWithoutSession(session);
    return connection;
  }

  // --- PushIntake::Sessions
  bool Enter(std::uint64_t session) override {
    if (connections_.OfSession(session) == nullptr) return false;
    if (std::ranges::count(closing_, session) > 0) return false;
    handling_ = session;
    return true;
  }
  void CloseLiar(std::uint64_t session, absl::string_view what) override {
    CloseSession(connections_.OfSession(session)->worker, session, what);
  }
  void CloseLost(std::uint64_t session, absl::string_view what) override {
    LogInfo("closed the connection of worker ", connections_.OfSession(session)->worker.value(),
            ": ", what);
    closing_.push_back(session);
  }

  // Late ones of closed connections are no strangers'. Nobody gets an answer: there is no address
  // to send it to, and none could tell a stranger anything that it may know.
  void DropWithoutSession(std::uint64_t session) {
    if (connections_.RecentlyRemoved(session)) return;
    strangers_messages_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t times = strangers_.Add(MonotonicNow());
    if (times == 0) return;
    LogWarning("dropped ", times, " message(s) without a session of this ps: somebody who did not ",
               "come through the control plane knows its UCX address");
  }

  void OnSent(net::SendToken token, const absl::Status&) override {
    if (token.value() >= kAnswerTokens) {
      --answers_under_way_[token.value() - kAnswerTokens];
      return;
    }
    const SendSlab::Entry sent = sends_.Take(token);
    shard_.OnBlockSent(sent.worker, sent.pin);
  }

  void OnGot(net::GetToken token, const absl::Status& status) override {
    intake_.OnGot(token, status);
  }

  void OnPeerDown(net::PeerId peer, const absl::Status& why) override {
    const Connection* connection = connections_.OfPeer(peer);
    if (connection == nullptr) return;
    // The chief decides whether the worker is lost; here only its connection is.
    LogDebug("the connection to worker ", connection->worker.value(), " ended: ", why.message());
    Close(*connection);
  }

  // --- ShardOutput
  void SendPushAck(WorkerIndex to, const wire::PushAck& ack) override {
    SendHeader(to, wire::MessageType::PushAck, ack);
  }
  void SendPullRefusal(WorkerIndex to, const wire::PullBlock& header) override {
    SendHeader(to, wire::MessageType::PullBlock, header);
  }
  void SendTicket(WorkerIndex to, const wire::TicketReply& reply) override {
    if (reply.outcome() == wire::TicketOutcome::Granted && first_ticket_us_ < 0) {
      first_ticket_us_ = MicrosSince(start_);
    }
    SendHeader(to, wire::MessageType::TicketReply, reply);
  }
  void SendBlock(WorkerIndex to, const wire::PullBlock& header, BlockPin pin) override {
    const Connection* connection = connections_.ForAnswer(to, header.session());
    if (connection == nullptr) {
      orphans_.push_back({to, pin});  // the shard is in the middle of a call: hand it back after
      return;
    }
    wire::PullBlock stamped = header;
    stamped.mutate_session(connection->session);
    transport_->Send(connection->peer, static_cast<std::uint8_t>(wire::MessageType::PullBlock),
                     AsBytes(stamped), std::as_bytes(pin.values), memory_.get(),
                     sends_.Add({to, pin}));
  }
  // By session: a fenced connection's message must not close the worker's next one.
  void CloseWorker(WorkerIndex worker, absl::string_view what) override {
    CloseSession(worker, handling_, what);
  }
  void CloseSession(WorkerIndex worker, std::uint64_t session, absl::string_view what) {
    if (std::ranges::count(closing_, session) > 0) return;
    LogWarning("closed the connection of worker ", worker.value(), ": ", what);
    closing_.push_back(session);
  }
  void StepCompleted(Step step) override {
    last_ack_us_ = MicrosSince(start_);
    if (step.value() % options_.notify_steps != 0 && step < options_.shard.max_steps) return;
    wire::StepReachedT reached;
    reached.step = step.value();
    wire::MemberBodyUnion body;
    body.Set(std::move(reached));
    report_(std::move(body));
  }

  template <typename Struct>
  void SendHeader(WorkerIndex to, wire::MessageType type, Struct header) {
    const Connection* connection = connections_.ForAnswer(to, header.session());
    if (connection == nullptr) return;
    int& under_way = answers_under_way_[to.value()];
    if (under_way >= kMostAnswersUnderWay) {
      return CloseSession(to, connection->session, "it does not read its answers");
    }
    ++under_way;
    header.mutate_session(connection->session);
    transport_->Send(connection->peer, static_cast<std::uint8_t>(type), AsBytes(header), {},
                     nullptr, net::SendToken(kAnswerTokens + to.value()));
  }

  void ReturnOrphans() {
    // Each makes room for a block that is owed, which is an orphan too, until none is.
    while (!orphans_.empty()) {
      for (const SendSlab::Entry& orphan : std::exchange(orphans_, {})) {
        shard_.OnBlockSent(orphan.worker, orphan.pin);
      }
    }
    for (std::uint64_t session : std::exchange(closing_, {})) {
      if (const Connection* connection = connections_.OfSession(session)) Close(*connection);
    }
  }

  // --- reports
  /// Any thread.
  wire::ShardStatsT Counted() {
    wire::ShardStatsT stats = StatsOf(layout_, options_.shard.shard, counters_);
    stats.bytes_pulled += store_.bytes_read();
    return stats;
  }

  wire::ShardStatsT Stats() {
    wire::ShardStatsT stats = Counted();
    stats.first_ticket_us = first_ticket_us_;
    stats.last_ack_us = last_ack_us_;
    return stats;
  }

  void CheckpointDone(wire::CheckpointDoneT done) {
    done.thread = static_cast<std::uint32_t>(options_.thread);
    done.stats = std::make_unique<wire::ShardStatsT>(Counted());
    wire::MemberBodyUnion body;
    body.Set(std::move(done));
    report_(std::move(body));
  }

  const Layout& layout_;
  const ServerOptions options_;
  const Report report_;
  const absl::Time start_ = MonotonicNow();
  std::unique_ptr<net::Transport> transport_;  // until the destructor
  const std::string data_address_;
  const std::unique_ptr<net::Memory> memory_;  // null for a shard without blocks
  BlockStore store_;
  ShardCounters counters_;

  // Of the owner thread.
  Admission admission_;  // its RefusalOf is anybody's
  Connections connections_;
  std::vector<int> answers_under_way_;  // by worker
  SendSlab sends_;
  Shard shard_;
  PushIntake intake_;
  std::vector<SendSlab::Entry> orphans_;
  std::vector<std::uint64_t> closing_;  // sessions
  std::uint64_t handling_ = 0;          // the session whose message is being handled
  Occurrences strangers_;
  std::optional<CheckpointRequest> next_checkpoint_;
  std::int64_t first_ticket_us_ = -1;
  std::int64_t last_ack_us_ = -1;

  std::atomic<std::uint64_t> strangers_messages_{0};  // publishes nothing else
  BoundedQueue<std::function<void()>> mailbox_{4096};
  CheckpointWriter writer_;
  std::jthread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(const Layout& layout,
                                                       const ServerOptions& options,
                                                       std::unique_ptr<net::Transport> transport,
                                                       const BlockLoader& loader, Report report) {
  std::unique_ptr<net::Memory> memory;
  if (!layout.blocks_of(options.shard.shard).empty()) {
    WEIR_ASSIGN_OR_RETURN(
        memory, transport->Allocate(BlockStore::BytesNeeded(layout, options.shard.shard,
                                                            SpareSlots(layout, options.shard))));
  }
  auto server = std::make_unique<ServerImpl>(layout, options, std::move(transport),
                                             std::move(memory), std::move(report));
  WEIR_RETURN_IF_ERROR(server->Load(loader));
  server->Start();
  return server;
}

}  // namespace weir::ps
