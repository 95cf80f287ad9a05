#include "tests/simulation/sim_shard.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/gradient.h"
#include "tests/simulation/sim_cluster.h"
#include "tests/simulation/sim_worker.h"

namespace weir::sim {
namespace {

std::vector<float> Copy(std::span<const float> values) { return {values.begin(), values.end()}; }

}  // namespace

void SimShard::Free::operator()(std::byte* bytes) const { std::free(bytes); }

SimShard::SimShard(SimCluster& cluster, ShardIndex index)
    : cluster_(cluster),
      index_(index),
      memory_bytes_(
          ps::BlockStore::BytesNeeded(cluster.layout(), index, cluster.scenario().spares) + 64),
      memory_(static_cast<std::byte*>(std::aligned_alloc(64, (memory_bytes_ + 63) / 64 * 64))),
      store_(cluster.layout(), index, cluster.scenario().spares, {memory_.get(), memory_bytes_}),
      counters_(static_cast<int>(cluster.layout().blocks_of(index).size()),
                cluster.scenario().workers),
      shard_(cluster.layout(),
             {.shard = index,
              .max_workers = cluster.scenario().workers,
              .start_step = cluster.scenario().start_step,
              .max_steps = cluster.scenario().max_steps,
              .learning_rate = cluster.scenario().learning_rate,
              .push_credits = cluster.scenario().push_credits,
              .pull_credits = cluster.scenario().pull_credits,
              .has_step_counter = index == ShardIndex(0)},
             store_, counters_, *this) {
  for (BlockId block : cluster.layout().blocks_of(index)) {
    const std::span<float> values = store_.InitialValues(block);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = InitialValue(block, i);
  }
}

SimShard::~SimShard() = default;

void SimShard::OnView(ViewNumber view, const std::vector<Life>& live) {
  if (view <= shard_.view()) return;
  cluster_.Record(ShardTookView{index_, view, live});
  if (cluster_.scenario().plant == Plant::kIgnoreViews && shard_.view() > ViewNumber(0)) return;
  std::vector<ps::LiveWorker> workers;
  for (const Life& life : live) workers.push_back({life.worker, life.incarnation});
  shard_.OnView(view, workers);
}

void SimShard::OnPush(const wire::PushBlock& header, const std::vector<std::byte>& payload) {
  shard_.OnPush(cluster_.LifeOf(header.session()).worker, header, payload);
  CheckSpares();
}

void SimShard::OnPull(const wire::PullRequest& header) {
  shard_.OnPull(cluster_.LifeOf(header.session()).worker, header);
}

void SimShard::OnTicket(const wire::TicketRequest& header) {
  ticket_ = header;
  shard_.OnTicket(cluster_.LifeOf(header.session()).worker, header);
}

void SimShard::CheckSpares() {
  const int spares = cluster_.scenario().spares;
  cluster_.Level(absl::StrCat("used spares of ps ", index_.value()), spares - store_.free_spares(),
                 spares);
}

void SimShard::TakeSnapshot() {
  if (snapshot_pins_ > 0) return;
  const ps::Shard::Snapshot snapshot = shard_.BeginSnapshot();
  cluster_.Count("snapshot");
  snapshot_pins_ = snapshot.pins.size();
  for (std::size_t i = 0; i < snapshot.pins.size(); ++i) {
    const BlockId block = cluster_.layout().blocks_of(index_)[i];
    const Version version(counters_.version(i).load());
    const ps::BlockPin pin = snapshot.pins[i];
    cluster_.scheduler().After(cluster_.random().Upto(absl::Milliseconds(40)), [=, this] {
      cluster_.Record(SnapshotBlock{block, version, Copy(pin.values)});
      shard_.ReleaseSnapshotBlock(pin);
      --snapshot_pins_;
      CheckSpares();
    });
  }
}

void SimShard::SendPushAck(WorkerIndex /*to*/, const wire::PushAck& sent) {
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
  cluster_.network().Send({.label = label, .deliver = [this, who, ack](bool) {
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
  cluster_.network().Send({.label = label,
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

void SimShard::SendPullRefusal(WorkerIndex /*to*/, const wire::PullBlock& header) {
  const Life who = cluster_.LifeOf(header.session());
  cluster_.Count(absl::StrCat("pull ", wire::EnumNameCode(header.code())));
  std::string label;
  if (cluster_.scheduler().tracing()) {
    label =
        absl::StrCat("ps ", index_.value(), " -> ", ToString(who), " PullBlock ", header.block(),
                     " ", wire::EnumNameCode(header.code()), " view ", header.view());
  }
  cluster_.network().Send({.label = label, .deliver = [this, who, header](bool) {
                             if (SimWorker* worker = cluster_.worker(who)) {
                               worker->OnPullBlock(index_, header, {});
                             }
                           }});
}

void SimShard::SendTicket(WorkerIndex /*to*/, const wire::TicketReply& reply) {
  const Life who = cluster_.LifeOf(reply.session());
  cluster_.Count(absl::StrCat("ticket ", wire::EnumNameTicketOutcome(reply.outcome())));
  std::string label;
  if (cluster_.scheduler().tracing()) {
    label =
        absl::StrCat("ps ", index_.value(), " -> ", ToString(who), " TicketReply ", reply.request(),
                     " ", wire::EnumNameTicketOutcome(reply.outcome()), " step ", reply.step());
  }
  cluster_.network().Send({.label = label, .deliver = [this, who, reply](bool) {
                             if (SimWorker* worker = cluster_.worker(who)) {
                               worker->OnTicketReply(index_, reply);
                             }
                           }});
}

void SimShard::CloseWorker(WorkerIndex worker, absl::string_view what) {
  cluster_.Record(WorkerAccused{worker, std::string(what)});
}

void SimShard::StepCompleted(Step step) {
  cluster_.Record(StepCounted{cluster_.LifeOf(ticket_.session()), Step(ticket_.completed()), step});
}

}  // namespace weir::sim
