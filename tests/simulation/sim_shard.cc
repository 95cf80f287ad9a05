#include "tests/simulation/sim_shard.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/model/protocol.h"
#include "ps_server/shard_stats.h"
#include "tests/simulation/sim_cluster.h"
#include "tests/simulation/sim_worker.h"

namespace weir::sim {
namespace {

constexpr const char* kTransport = "simulated";

std::vector<float> Copy(std::span<const float> values) { return {values.begin(), values.end()}; }

}  // namespace

SimShard::SimShard(SimCluster& cluster, ShardIndex index, ProcessId process, Report report)
    : cluster_(cluster),
      index_(index),
      process_(process),
      report_(std::move(report)),
      memory_bytes_(
          ps::BlockStore::BytesNeeded(cluster.layout(), index, cluster.scenario().spares) + 64),
      memory_(static_cast<std::byte*>(std::aligned_alloc(64, (memory_bytes_ + 63) / 64 * 64)),
              [](std::byte* bytes) { std::free(bytes); }),
      store_(cluster.layout(), index, cluster.scenario().spares, {memory_.get(), memory_bytes_}),
      counters_(cluster.scenario().workers),
      shard_(cluster.layout(),
             {.shard = index,
              .max_workers = cluster.scenario().workers,
              .start_step = cluster.start(),
              .max_steps = cluster.scenario().max_steps,
              .learning_rate = cluster.scenario().learning_rate,
              .push_credits = cluster.scenario().push_credits,
              .pull_credits = cluster.scenario().pull_credits,
              .has_step_counter = index == ShardIndex(0)},
             store_, counters_, *this),
      admission_({.transport_kind = kTransport,
                  .ucx_version = "",
                  .layout_fingerprint = cluster.layout().fingerprint(),
                  .max_workers = cluster.scenario().workers}),
      connections_(cluster.scenario().workers),
      fetches_(kLandingPlaces, cluster.scenario().push_credits),
      landing_(std::make_shared<std::vector<std::vector<float>>>(kLandingPlaces)) {
  for (BlockId block : cluster.layout().blocks_of(index)) {
    const std::span<float> values = store_.InitialValues(block);
    std::ranges::copy(cluster.first(block), values.begin());
  }
  store_.Identify(Incarnation(process_));
}

SimShard::~SimShard() = default;

void SimShard::OnView(ViewNumber view, const std::vector<Life>& members) {
  if (view <= shard_.view()) return;
  std::vector<Life> live = members;
  if (cluster_.scenario().plant == Plant::kResurrect) {
    for (const Life& life : departed_) {
      if (std::ranges::find(live, life.worker, &Life::worker) == live.end()) live.push_back(life);
    }
    for (const Life& life : earlier_view_) {
      if (std::ranges::find(live, life) == live.end()) departed_.push_back(life);
    }
    earlier_view_ = members;
  }
  cluster_.Record(ShardTookView{index_, view, live});
  if (cluster_.scenario().plant == Plant::kIgnoreViews && shard_.view() > ViewNumber(0)) return;
  std::vector<ps::LiveWorker> workers;
  for (const Life& life : live) workers.push_back({life.worker, life.incarnation});
  admission_.OnView(view, workers);
  shard_.OnView(view, workers);
  for (const ps::Connection& connection :
       connections_.OnView(admission_, cluster_.scheduler().now())) {
    Close(connection);
  }
  if (!connections_.any_fenced()) return;
  cluster_.Count("worker fenced");
  cluster_.processes().After(process_, ps::Connections::kFencedLinger, [this] {
    for (const ps::Connection& connection : connections_.TakeExpired(cluster_.scheduler().now())) {
      Close(connection);
    }
  });
}

wire::ConnectReplyT SimShard::Connect(const wire::ConnectRequestT& request) {
  wire::ConnectReplyT reply;
  reply.reason = admission_.RefusalOf(request);
  if (!reply.reason.empty()) return reply;
  reply.reason = admission_.ReasonToWait(request);
  reply.retry = !reply.reason.empty();
  cluster_.Count(reply.retry ? "connect retry" : "connect accepted");
  if (reply.retry) return reply;
  reply.accepted = true;
  reply.session = cluster_.world().NewSession();
  const Life who{WorkerIndex(static_cast<std::uint16_t>(request.worker)),
                 Incarnation(request.incarnation)};
  cluster_.OpenSession(reply.session, who);
  const auto replaced =
      connections_.Open({.worker = who.worker,
                         .incarnation = who.incarnation,
                         .peer = net::PeerId(static_cast<std::uint32_t>(reply.session)),
                         .session = reply.session});
  if (replaced) Close(*replaced);
  return reply;
}

std::optional<SimMapping> SimShard::Map() const {
  const std::size_t blocks = cluster_.layout().blocks_of(index_).size();
  if (blocks == 0) return std::nullopt;
  const auto reader =
      arena::Reader::Create({memory_.get(), memory_bytes_}, blocks, Incarnation(process_));
  return SimMapping{process_, memory_, *reader};
}

void SimShard::Close(const ps::Connection& connection) {
  if (cluster_.scenario().plant == Plant::kLandingReused) GiveBackPlacesOf(connection.session);
  fetches_.Forget(connection.session);
  const Life who{connection.worker, connection.incarnation};
  const ProcessId process = cluster_.ProcessOf(who);
  if (process == kNoProcess) return;
  cluster_.processes().After(process, cluster_.network().Delay(), [this, who] {
    if (SimWorker* worker = cluster_.worker(who)) worker->OnPeerDown(index_);
  });
}

void SimShard::Disconnect() {
  for (const ps::Connection& connection : connections_.All()) Close(connection);
}

bool SimShard::Knows(std::uint64_t session) {
  if (connections_.OfSession(session) != nullptr) return true;
  cluster_.Count("message of a closed connection");
  return false;
}

std::optional<Life> SimShard::Receiver(WorkerIndex to, std::uint64_t session) const {
  const ps::Connection* connection = connections_.ForAnswer(to, session);
  if (connection == nullptr) return std::nullopt;
  return Life{connection->worker, connection->incarnation};
}

void SimShard::OnPush(const wire::PushBlock& header, const std::vector<std::byte>& payload) {
  if (!Knows(header.session())) return;
  shard_.OnPush(cluster_.LifeOf(header.session()).worker, header, payload);
  CheckSpares();
}

void SimShard::OnPull(const wire::PullRequest& header) {
  if (!Knows(header.session())) return;
  shard_.OnPull(cluster_.LifeOf(header.session()).worker, header);
}

void SimShard::OnTicket(const wire::TicketRequest& header) {
  if (!Knows(header.session())) return;
  ticket_ = header;
  shard_.OnTicket(cluster_.LifeOf(header.session()).worker, header);
}

void SimShard::CheckSpares() {
  const int spares = cluster_.scenario().spares;
  cluster_.Level(absl::StrCat("used spares of ps ", index_.value()), spares - store_.free_spares(),
                 spares);
}

// As the shipping server does it: one cut at a time, and at most one that waits.
void SimShard::TakeCheckpoint(std::uint32_t id, Step step, ProcessId chief) {
  if (const auto overtaken = std::exchange(next_cut_, CutRequest{id, step, chief})) {
    ReportDone(overtaken->id, "a later one was asked for before its turn came");
  }
  BeginCut();
}

void SimShard::BeginCut() {
  if (!next_cut_.has_value() || shard_.snapshot_under_way()) return;
  const CutRequest request = *std::exchange(next_cut_, std::nullopt);
  const auto cut = std::make_shared<Cut>();
  cut->id = request.id;
  cut->step = request.step;
  cut->chief = cut->file.chief = request.chief;
  cut->snapshot = shard_.BeginSnapshot();
  const auto blocks = cluster_.layout().blocks_of(index_);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    cut->file.entries.push_back({blocks[i], store_.version(blocks[i]), {}});
  }
  cluster_.Count("snapshot");
  if (cluster_.scenario().plant == Plant::kDoneBeforeWritten) ReportDone(cut->id, "");
  WriteNext(cut);
}

void SimShard::WriteNext(const std::shared_ptr<Cut>& cut) {
  const absl::Duration takes = cluster_.random().Upto(cluster_.scenario().disk_delay);
  const std::size_t next =
      std::ranges::find_if(cut->file.entries,
                           [](const auto& entry) { return entry.values.empty(); }) -
      cut->file.entries.begin();
  cluster_.processes().After(process_, takes, [this, cut, next] {
    if (next == cut->file.entries.size()) return FinishCut(cut);
    if (cut->folder == 0) cut->folder = cluster_.world().disk()[cut->step].number;
    SimShardFile::Entry& entry = cut->file.entries[next];
    entry.values = Copy(cut->snapshot.pins[next].values);
    cluster_.Record(SnapshotBlock{entry.block, entry.version, entry.values});
    shard_.ReleaseSnapshotBlock(cut->snapshot.pins[next]);
    CheckSpares();
    WriteNext(cut);
  });
}

void SimShard::FinishCut(const std::shared_ptr<Cut>& cut) {
  const Plant plant = cluster_.scenario().plant;
  if (plant == Plant::kOldCut && !earlier_cut_.empty()) {
    std::swap(cut->file.entries, earlier_cut_);
  } else {
    earlier_cut_ = cut->file.entries;
  }
  if (cluster_.random().Chance(cluster_.scenario().disk_error)) {
    cluster_.Count("shard file not written");
    if (plant != Plant::kDoneBeforeWritten) ReportDone(cut->id, "the disk is full");
  } else if (cut->folder != 0 && cluster_.world().disk()[cut->step].number != cut->folder) {
    // The temporary file went with a folder that another run's chief removed.
    cluster_.Count("shard file removed");
    ReportDone(cut->id, "there is no such file");
  } else {
    cluster_.world().disk()[cut->step].files[index_] = cut->file;
    if (plant != Plant::kDoneBeforeWritten) ReportDone(cut->id, "");
  }
  BeginCut();
}

void SimShard::ReportDone(std::uint32_t id, const std::string& error) {
  wire::CheckpointDoneT done;
  done.id = id;
  done.ok = error.empty();
  done.error = error;
  if (done.ok) {
    done.file = absl::StrCat("shard-", index_.value());
    done.file_bytes = 1;
  }
  done.stats =
      std::make_unique<wire::ShardStatsT>(ps::StatsOf(cluster_.layout(), index_, counters_));
  wire::MemberBodyUnion body;
  body.Set(std::move(done));
  report_(std::move(body));
}

void SimShard::SendStats() {
  wire::StatsT stats;
  stats.stats =
      std::make_unique<wire::ShardStatsT>(ps::StatsOf(cluster_.layout(), index_, counters_));
  wire::MemberBodyUnion body;
  body.Set(std::move(stats));
  report_(std::move(body));
}

void SimShard::SendPushAck(WorkerIndex to, const wire::PushAck& sent) {
  const wire::PushAck ack(sent.session(), sent.sequence() % kRemapped, sent.version(), sent.view(),
                          sent.block(), sent.code(), sent.duplicate(), 0, 0);
  const Life who = cluster_.LifeOf(ack.session());
  if (ack.code() == wire::Code::Ok && ack.duplicate() == 0) {
    cluster_.Record(BlockApplied{index_, BlockId(ack.block()), who, Sequence(ack.sequence()),
                                 Version(ack.version())});
  }
  cluster_.Count(ack.duplicate() != 0 ? "push duplicate"
                                      : absl::StrCat("push ", wire::EnumNameCode(ack.code())));
  std::string label;
  if (cluster_.scheduler().tracing()) {
    label = absl::StrCat("ps ", index_.value(), " -> ", ToString(who), " PushAck #", ack.sequence(),
                         " block ", ack.block(), " ", wire::EnumNameCode(ack.code()), " view ",
                         ack.view());
  }
  if (Receiver(to, ack.session()) != who) return;
  cluster_.network().Send({.from = process_,
                           .to = cluster_.ProcessOf(who),
                           .label = label,
                           .deliver = [this, who, ack](bool) {
                             if (SimWorker* worker = cluster_.worker(who)) {
                               worker->OnPushAck(index_, ack);
                             }
                           }});
}

void SimShard::SendBlock(WorkerIndex to, const wire::PullBlock& header, ps::BlockPin pin) {
  const Life who = cluster_.LifeOf(header.session());
  cluster_.Level(absl::StrCat("blocks being sent by ps ", index_.value()), ++blocks_being_sent_[to],
                 cluster_.scenario().pull_credits);
  const auto then = std::make_shared<const std::vector<float>>(Copy(pin.values));
  const auto bytes = std::make_shared<std::vector<float>>();
  const auto changed = [this, pin, then, header] {
    if (Copy(pin.values) == *then) return;
    cluster_.Record(LentBytesChanged{absl::StrCat("block ", header.block(), " of version ",
                                                  header.version(), " of ps ", index_.value())});
  };
  std::string label;
  if (cluster_.scheduler().tracing()) {
    label =
        absl::StrCat("ps ", index_.value(), " -> ", ToString(who), " PullBlock ", header.block(),
                     " version ", header.version(), " request ", header.request());
  }
  const bool early = cluster_.scenario().plant == Plant::kBlockReadLate;
  cluster_.network().Send({.from = process_,
                           .to = cluster_.ProcessOf(who),
                           .label = label,
                           .read =
                               [pin, bytes, changed] {
                                 changed();
                                 *bytes = Copy(pin.values);
                                 return true;
                               },
                           .sent =
                               [this, to, pin, changed, early] {
                                 if (!early) changed();
                                 --blocks_being_sent_[to];
                                 shard_.OnBlockSent(to, pin);
                                 CheckSpares();
                               },
                           .deliver =
                               [this, who, header, bytes](bool) {
                                 if (SimWorker* worker = cluster_.worker(who)) {
                                   worker->OnPullBlock(index_, header,
                                                       std::as_bytes(std::span(*bytes)));
                                 }
                               },
                           .sent_early = early});
}

void SimShard::SendPullRefusal(WorkerIndex to, const wire::PullBlock& header) {
  const Life who = cluster_.LifeOf(header.session());
  cluster_.Count(absl::StrCat("pull ", wire::EnumNameCode(header.code())));
  std::string label;
  if (cluster_.scheduler().tracing()) {
    label =
        absl::StrCat("ps ", index_.value(), " -> ", ToString(who), " PullBlock ", header.block(),
                     " ", wire::EnumNameCode(header.code()), " view ", header.view());
  }
  if (Receiver(to, header.session()) != who) return;
  cluster_.network().Send({.from = process_,
                           .to = cluster_.ProcessOf(who),
                           .label = label,
                           .deliver = [this, who, header](bool) {
                             if (SimWorker* worker = cluster_.worker(who)) {
                               worker->OnPullBlock(index_, header, {});
                             }
                           }});
}

void SimShard::SendTicket(WorkerIndex to, const wire::TicketReply& reply) {
  const std::optional<Life> receiver = Receiver(to, reply.session());
  if (!receiver) return;
  const Life who = *receiver;
  cluster_.Count(absl::StrCat("ticket ", wire::EnumNameTicketOutcome(reply.outcome())));
  std::string label;
  if (cluster_.scheduler().tracing()) {
    label =
        absl::StrCat("ps ", index_.value(), " -> ", ToString(who), " TicketReply ", reply.request(),
                     " ", wire::EnumNameTicketOutcome(reply.outcome()), " step ", reply.step());
  }
  cluster_.network().Send({.from = process_,
                           .to = cluster_.ProcessOf(who),
                           .label = label,
                           .deliver = [this, who, reply](bool) {
                             if (SimWorker* worker = cluster_.worker(who)) {
                               worker->OnTicketReply(index_, reply);
                             }
                           }});
}

void SimShard::CloseWorker(WorkerIndex worker, absl::string_view what) {
  cluster_.Record(PeerAccused{absl::StrCat("worker ", worker.value()), std::string(what)});
}

void SimShard::StepCompleted(Step step) {
  cluster_.Record(StepCounted{cluster_.LifeOf(ticket_.session()), Step(ticket_.completed()), step});
  wire::StepReachedT reached;
  reached.step = step.value();
  const std::uint64_t notify = cluster_.scenario().save_checkpoints_steps;
  if ((notify == 0 || step.value() % notify != 0) && step < cluster_.scenario().max_steps) return;
  wire::MemberBodyUnion body;
  body.Set(std::move(reached));
  report_(std::move(body));
}

}  // namespace weir::sim
