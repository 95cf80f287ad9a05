#include "ps_server/logic/shard.h"

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "common/base/racy_copy.h"
#include "ps_server/logic/shard_worker.h"
#include "ps_server/optimizers/sgd.h"

namespace weir::ps {
namespace {

// What no correct worker with the same layout sends; null where nothing is wrong.
const char* Malformed(const Layout& layout, const BlockStore& store, std::size_t blocks_here,
                      const wire::PushBlock& header, std::size_t payload_bytes) {
  const BlockId block(header.block());
  if (block.value() >= layout.blocks().size()) return "a push of a block that does not exist";
  if (!store.owns(block)) return "a push of a block of another shard";
  if (payload_bytes != static_cast<std::size_t>(layout.block(block).bytes())) {
    return "a push whose payload is not of its block's size";
  }
  if (header.sequence() == 0) return "a push with sequence 0";
  if (header.codec() != 0) return "a push in a codec that does not exist";
  if (header.blocks_here() == 0 || header.blocks_here() > blocks_here) {
    return "a push with an impossible number of blocks on this shard";
  }
  return nullptr;
}

}  // namespace

Shard::Shard(const Layout& layout, const ShardOptions& options, BlockStore& store,
             ShardCounters& counters, ShardOutput& output)
    : layout_(layout),
      options_(options),
      store_(store),
      counters_(counters),
      output_(output),
      tickets_(options.start_step, options.max_steps, options.max_workers) {
  for (int i = 0; i < options.max_workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(options.pull_credits));
    workers_.back()->applied.resize(blocks().size());
  }
  waiting_.reserve(workers_.size());
  counters_.global_step.store(options.start_step.value(), std::memory_order_relaxed);
}

Shard::~Shard() = default;

ViewNumber Shard::view() const { return view_; }
Step Shard::global_step() const { return tickets_.global_step(); }
bool Shard::finished() const { return tickets_.finished(); }

void Shard::OnView(ViewNumber view, std::span<const LiveWorker> workers) {
  if (view <= view_) return;
  view_ = view;
  // First of all, so that nobody who is fenced here reads on unasked.
  store_.PublishView(view);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const WorkerIndex index(static_cast<std::uint16_t>(i));
    const auto now = std::ranges::find(workers, index, &LiveWorker::worker);
    const bool same =
        now != workers.end() && workers_[i]->live && now->incarnation == workers_[i]->incarnation;
    if (same) {
      RefuseOwed(index);
      continue;
    }
    if (workers_[i]->live) Fence(index);
    if (now != workers.end()) Admit(index, now->incarnation);
  }
  ServeWaiting();
}

void Shard::Admit(WorkerIndex index, Incarnation incarnation) {
  Worker& worker = *workers_[index.value()];
  if (incarnation == worker.incarnation) {
    worker.live = true;  // against the contract; but what it pushed stays pushed
    return;
  }
  Worker fresh(options_.pull_credits);
  fresh.live = true;
  fresh.fenced = worker.incarnation;
  fresh.incarnation = incarnation;
  fresh.blocks_being_sent = worker.blocks_being_sent;
  fresh.applied.resize(blocks().size());
  worker = std::move(fresh);
  counters_.clock(index).store(0, std::memory_order_release);
}

void Shard::Fence(WorkerIndex index) {
  Worker& worker = *workers_[index.value()];
  worker.live = false;
  worker.owed.Clear();
  StopWaiting(index);
  tickets_.GiveBack(index);
}

Shard::Standing Shard::StandingOf(const Worker& worker, Incarnation incarnation,
                                  ViewNumber view) const {
  if (view > view_) return Standing::kStaleView;
  if (worker.live && worker.incarnation == incarnation) {
    return view == view_ ? Standing::kWelcome : Standing::kStaleView;
  }
  // Either over, or so new that its view has not reached it or us.
  const bool over = incarnation == worker.incarnation || incarnation == worker.fenced;
  const bool agreed = view == view_ && view != ViewNumber(0);
  return over || agreed ? Standing::kFenced : Standing::kStaleView;
}

Shard::Worker* Shard::FindWorker(WorkerIndex worker, std::uint16_t claimed,
                                 absl::string_view message) {
  if (worker.value() < workers_.size() && claimed == worker.value()) {
    return workers_[worker.value()].get();
  }
  output_.CloseWorker(worker, absl::StrCat("a ", message, " that names worker ", claimed));
  return nullptr;
}

void Shard::AnswerPush(WorkerIndex to, const wire::PushBlock& header, wire::Code code,
                       bool duplicate) {
  const BlockId block(header.block());
  const Version now = store_.owns(block) ? store_.version(block) : Version(0);
  output_.SendPushAck(to,
                      wire::PushAck(header.session(), header.sequence(), now.value(), view_.value(),
                                    header.block(), code, duplicate ? 1 : 0, 0, 0));
}

void Shard::RefusePush(WorkerIndex to, const wire::PushBlock& header, wire::Code code) {
  if (code != wire::Code::Invalid) counters_.refused.fetch_add(1, std::memory_order_relaxed);
  AnswerPush(to, header, code, false);
}

void Shard::AnswerBusy(WorkerIndex to, const wire::PushBlock& header) {
  RefusePush(to, header, wire::Code::Busy);
}

void Shard::RefuseLie(WorkerIndex to, const wire::PushBlock& header, absl::string_view what) {
  RefusePush(to, header, wire::Code::Invalid);
  output_.CloseWorker(to, what);
}

void Shard::OnPush(WorkerIndex index, const wire::PushBlock& header, ByteSpan payload) {
  if (IsToBeApplied(index, header, payload.size())) Apply(index, header, payload);
}

bool Shard::WantsGradient(WorkerIndex index, const wire::PushBlock& header) {
  const bool exists = header.block() < layout_.blocks().size();
  const std::int64_t bytes = exists ? layout_.block(BlockId(header.block())).bytes() : 0;
  return IsToBeApplied(index, header, static_cast<std::size_t>(bytes));
}

bool Shard::IsToBeApplied(WorkerIndex index, const wire::PushBlock& header,
                          std::size_t payload_bytes) {
  Worker* worker = FindWorker(index, header.worker(), "push");
  if (worker == nullptr) return false;
  if (const char* what = Malformed(layout_, store_, blocks().size(), header, payload_bytes)) {
    RefuseLie(index, header, what);
    return false;
  }
  switch (StandingOf(*worker, Incarnation(header.incarnation()), ViewNumber(header.view()))) {
    case Standing::kStaleView:
      RefusePush(index, header, wire::Code::StaleView);
      return false;
    case Standing::kFenced:
      RefusePush(index, header, wire::Code::Fenced);
      return false;
    case Standing::kWelcome:
      return IsNews(index, header);
  }
  return false;
}

bool Shard::IsNews(WorkerIndex index, const wire::PushBlock& header) {
  const Worker& worker = *workers_[index.value()];
  const BlockId block(header.block());
  const Sequence sequence(header.sequence());
  if (sequence <= worker.applied[store_.position(block)]) {
    counters_.duplicates.fetch_add(1, std::memory_order_relaxed);
    AnswerPush(index, header, wire::Code::Ok, true);
    return false;
  }
  // Of a push that its worker gave up: neither applied nor called applied.
  if (sequence < worker.push) return false;
  if (sequence == worker.push && header.blocks_here() != worker.push_blocks) {
    RefuseLie(index, header, "a push that changed its number of blocks on this shard");
    return false;
  }
  // Versions only grow as long as a session lives: nobody can have pulled this one.
  if (header.base_version() > store_.version(block).value()) {
    RefuseLie(index, header, "a push that was computed from a version to come");
    return false;
  }
  return true;
}

void Shard::Apply(WorkerIndex index, const wire::PushBlock& header, ByteSpan payload) {
  const BlockId block(header.block());
  const Version before = store_.version(block);
  const auto update = store_.BeginUpdate(block);
  if (!update) return RefusePush(index, header, wire::Code::Busy);
  RacyWrite(update->to, [&](std::span<float> to) {
    ApplySgd(update->from, to, payload, options_.learning_rate);
  });
  store_.CommitUpdate(block);
  workers_[index.value()]->applied[store_.position(block)] = Sequence(header.sequence());
  CountApplied(index, header, before);
  AnswerPush(index, header, wire::Code::Ok, false);
}

void Shard::CountApplied(WorkerIndex index, const wire::PushBlock& header, Version before) {
  Worker& worker = *workers_[index.value()];
  const BlockId block(header.block());
  const std::uint64_t staleness = before.value() - header.base_version();
  const std::size_t bucket = std::min<std::uint64_t>(staleness, kStalenessBuckets - 1);
  counters_.staleness[bucket].fetch_add(1, std::memory_order_relaxed);
  counters_.bytes_pushed.fetch_add(static_cast<std::uint64_t>(layout_.block(block).bytes()),
                                   std::memory_order_relaxed);
  if (worker.push != Sequence(header.sequence())) {
    worker.push = Sequence(header.sequence());
    worker.push_blocks = header.blocks_here();
    worker.push_applied = 0;
  }
  if (++worker.push_applied < worker.push_blocks) return;
  counters_.applied(index).fetch_add(1, std::memory_order_relaxed);
  counters_.clock(index).store(header.clock(), std::memory_order_release);
}

void Shard::RefusePull(WorkerIndex to, const wire::PullRequest& header, BlockId block,
                       wire::Code code) {
  if (code != wire::Code::Invalid) counters_.refused.fetch_add(1, std::memory_order_relaxed);
  output_.SendPullRefusal(to, wire::PullBlock(header.session(), header.request(), 0, view_.value(),
                                              block.value(), code, 0, 0, 0));
}

void Shard::OnPull(WorkerIndex index, const wire::PullRequest& header) {
  Worker* worker = FindWorker(index, header.worker(), "pull");
  if (worker == nullptr) return;
  const BlockId first(header.block());
  if (!store_.owns(first) || header.request() == 0 || header.count() == 0 ||
      header.count() > blocks().size() - store_.position(first)) {
    RefusePull(index, header, first, wire::Code::Invalid);
    return output_.CloseWorker(index, "a pull of blocks that are not here");
  }
  switch (StandingOf(*worker, Incarnation(header.incarnation()), ViewNumber(header.view()))) {
    case Standing::kFenced:
      return RefusePull(index, header, first, wire::Code::Fenced);
    case Standing::kStaleView:
      for (BlockId block : blocks().subspan(store_.position(first), header.count())) {
        RefusePull(index, header, block, wire::Code::StaleView);
      }
      return;
    case Standing::kWelcome:
      return ServePull(index, header);
  }
}

void Shard::ServePull(WorkerIndex index, const wire::PullRequest& header) {
  Worker& worker = *workers_[index.value()];
  const std::size_t first = store_.position(BlockId(header.block()));
  for (BlockId block : blocks().subspan(first, header.count())) {
    if (worker.blocks_being_sent < options_.pull_credits) {
      ServeBlock(index, header, block);
    } else if (!worker.owed.Add(header, block)) {
      RefusePull(index, header, block, wire::Code::Busy);
    }
  }
}

void Shard::ServeBlock(WorkerIndex index, const wire::PullRequest& header, BlockId block) {
  ++workers_[index.value()]->blocks_being_sent;
  counters_.bytes_pulled.fetch_add(static_cast<std::uint64_t>(layout_.block(block).bytes()),
                                   std::memory_order_relaxed);
  const Version served = store_.version(block);
  output_.SendBlock(index,
                    wire::PullBlock(header.session(), header.request(), served.value(),
                                    view_.value(), block.value(), wire::Code::Ok, 0, 0, 0),
                    store_.Pin(block));
}

// What is owed was asked for in the view that ends.
void Shard::RefuseOwed(WorkerIndex index) {
  while (const auto owed = workers_[index.value()]->owed.Take()) {
    RefusePull(index, owed->request, owed->block, wire::Code::StaleView);
  }
}

void Shard::OnBlockSent(WorkerIndex index, BlockPin pin) {
  Worker& worker = *workers_[index.value()];
  assert(worker.blocks_being_sent > 0);
  --worker.blocks_being_sent;
  store_.Unpin(pin);
  if (const auto owed = worker.owed.Take()) ServeBlock(index, owed->request, owed->block);
}

Shard::Snapshot Shard::BeginSnapshot() {
  assert(snapshot_pins_ == 0);
  Snapshot snapshot;
  for (BlockId block : blocks()) snapshot.pins.push_back(store_.Pin(block));
  snapshot_pins_ = snapshot.pins.size();
  for (std::uint16_t i = 0; i < workers_.size(); ++i) {
    snapshot.worker_clocks.emplace_back(
        counters_.clock(WorkerIndex(i)).load(std::memory_order_relaxed));
  }
  return snapshot;
}

void Shard::ReleaseSnapshotBlock(BlockPin pin) {
  assert(snapshot_pins_ > 0);
  --snapshot_pins_;
  store_.Unpin(pin);
}

}  // namespace weir::ps
