#include "tests/simulation/sim_worker.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/gradient.h"
#include "tests/simulation/sim_cluster.h"
#include "tests/simulation/sim_shard.h"

namespace weir::sim {
namespace {

constexpr absl::Duration kRetryAfter = absl::Milliseconds(50);
// Far beyond what any number of losses takes: an operation that reaches it is stuck.
constexpr absl::Duration kPatience = absl::Minutes(20);

// The plant's repetition, which the shard cannot know as one.
wire::PushBlock Remapped(const wire::PushBlock& h) {
  return wire::PushBlock(h.session(), h.incarnation(), h.sequence() + kRemapped, h.base_version(),
                         h.step(), h.view(), h.block(), h.clock(), h.blocks_here(), h.worker(),
                         h.codec(), 0);
}

}  // namespace

SimWorker::SimWorker(SimCluster& cluster, const Life& life, ProcessId process,
                     const std::vector<ShardLink>& links, std::function<void(absl::Status)> ended)
    : cluster_(cluster),
      life_(life),
      process_(process),
      ended_(std::move(ended)),
      logic_(cluster.layout(),
             {.worker = life.worker,
              .incarnation = life.incarnation,
              .retry_after = kRetryAfter,
              .busy_backoff = absl::Milliseconds(2)},
             *this),
      pushes_being_read_(static_cast<std::size_t>(cluster.layout().shards())) {
  for (const Block& block : cluster.layout().blocks()) {
    gradients_.emplace_back(static_cast<std::size_t>(block.elements));
  }
  for (std::uint16_t s = 0; s < cluster.layout().shards(); ++s) {
    logic_.OnConnected(ShardIndex(s), links[s]);
  }
}

SimWorker::~SimWorker() = default;

absl::Time SimWorker::now() const { return cluster_.scheduler().now(); }
absl::Time SimWorker::deadline() const { return now() + kPatience; }

void SimWorker::Start() {
  if (std::exchange(started_, true)) return;
  AskForStep(std::nullopt, wire::TicketAction::Next);
  SetAlarm();
}

void SimWorker::OnView(ViewNumber view) {
  logic_.OnView(now(), view);
  Start();
  Proceed();
}

void SimWorker::OnPushAck(ShardIndex shard, const wire::PushAck& ack) {
  logic_.OnPushAck(now(), shard, ack);
  Proceed();
}

void SimWorker::OnPullBlock(ShardIndex shard, const wire::PullBlock& header, ByteSpan payload) {
  logic_.OnPullBlock(now(), shard, header, payload);
  Proceed();
}

void SimWorker::OnTicketReply(ShardIndex shard, const wire::TicketReply& reply) {
  logic_.OnTicketReply(now(), shard, reply);
  Proceed();
}

void SimWorker::OnPeerDown(ShardIndex shard) {
  logic_.OnPeerDown(now(), shard, absl::UnavailableError("the connection broke"));
  Proceed();
}

void SimWorker::Abort(const absl::Status& why) {
  logic_.Abort(now(), why);
  Proceed();
}

void SimWorker::AskForStep(std::optional<Step> completed, wire::TicketAction action) {
  running_.insert(Operation::kTicket);
  cluster_.Record(OperationStarted{life_, Operation::kTicket, {}, {}});
  logic_.StartTicket(now(), completed, action, deadline());
}

void SimWorker::FinishStep() {
  AskForStep(step_, LeavesNow() ? wire::TicketAction::Release : wire::TicketAction::Next);
}

bool SimWorker::LeavesNow() {
  if (interrupted_) return true;
  return life_.worker != WorkerIndex(0) &&
         cluster_.random().Chance(cluster_.scenario().release_early);
}

void SimWorker::StartPull() {
  running_.insert(Operation::kPull);
  cluster_.Record(OperationStarted{life_, Operation::kPull, {}, {}});
  logic_.StartPull(now(), deadline());
}

void SimWorker::StartPush() {
  sequence_ = sequence_.next();
  FillGradients();
  running_.insert(Operation::kPush);
  cluster_.Record(OperationStarted{life_, Operation::kPush, sequence_, step_});
  logic_.StartPush(now(), step_, deadline());
  if (cluster_.random().Chance(cluster_.scenario().overlap)) StartPull();
}

bool SimWorker::Ended(Operation what, const std::optional<absl::Status>& result) {
  if (!running_.contains(what) || !result) return false;
  running_.erase(what);
  cluster_.Record(OperationEnded{life_, what, *result});
  if (!result->ok()) done_ = true;
  failure_.Update(*result);
  return true;
}

void SimWorker::Proceed() {
  if (!done_ && Ended(Operation::kPull, logic_.pull_result()) && running_.empty()) {
    // After a pull that went on longer than its push, the next step; else the push.
    if (!done_ && pushed_) {
      FinishStep();
    } else if (!done_) {
      StartPush();
    }
  }
  if (!done_ && Ended(Operation::kPush, logic_.push_result())) {
    pushed_ = true;
    if (!done_) ++steps_;
    // After a failed push its sends may go on, so only now.
    if (!done_) SpoilGradients();
    if (!done_ && running_.empty()) FinishStep();
  }
  if (!done_) ProceedFromTicket();
  if (done_) TellWhenDone();
  SetAlarm();
}

void SimWorker::TellWhenDone() {
  if (!ended_) return;
  cluster_.processes().After(
      process_, absl::ZeroDuration(),
      [ended = std::exchange(ended_, nullptr), failure = failure_] { ended(failure); });
}

void SimWorker::ProceedFromTicket() {
  const auto result = logic_.ticket_result();
  if (!result) return;
  if (!Ended(Operation::kTicket, result->status()) || done_) return;
  if ((*result)->outcome != wire::TicketOutcome::Granted) {
    done_ = true;
    return;
  }
  step_ = (*result)->step;
  pushed_ = false;
  cluster_.Record(StepGranted{life_, step_});
  if (LeavesNow()) {
    return AskForStep(std::nullopt, wire::TicketAction::Release);  // with the step in hand
  }
  StartPull();
}

void SimWorker::SetAlarm() {
  const absl::Time next = logic_.next_tick();
  if (cluster_.scenario().plant == Plant::kNoTicks || next >= alarm_ ||
      next == absl::InfiniteFuture()) {
    return;
  }
  alarm_ = next;
  cluster_.processes().At(process_, next, [cluster = &cluster_, who = life_] {
    SimWorker* worker = cluster->worker(who);
    if (worker == nullptr || worker->alarm_ > worker->now()) return;
    worker->alarm_ = absl::InfiniteFuture();
    worker->logic_.OnTick(worker->now());
    worker->Proceed();
  });
}

void SimWorker::FillGradients() {
  for (const Block& block : cluster_.layout().blocks()) {
    std::vector<float>& gradient = gradients_[block.id.value()];
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = GradientOf(life_, sequence_, block.id, i);
    }
  }
}

void SimWorker::SpoilGradients() {
  // The worker's next use of its memory: whoever still reads it sends nonsense.
  for (std::vector<float>& gradient : gradients_) {
    std::ranges::fill(gradient, std::numeric_limits<float>::quiet_NaN());
  }
}

bool SimWorker::GradientIsWhole(BlockId block, Sequence sequence) const {
  const std::vector<float>& gradient = gradients_[block.value()];
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (gradient[i] != GradientOf(life_, sequence, block, i)) return false;
  }
  return true;
}

void SimWorker::SendPush(ShardIndex to, const wire::PushBlock& header) {
  const BlockId block(header.block());
  const Plant plant = cluster_.scenario().plant;
  cluster_.Level(absl::StrCat("pushes being read to ps ", to.value()),
                 ++pushes_being_read_[to.value()], cluster_.scenario().push_credits);
  std::string label;
  if (cluster_.scheduler().tracing()) {
    label = absl::StrCat(ToString(life_), " -> ps ", to.value(), " PushBlock #", header.sequence(),
                         " block ", header.block(), " view ", header.view());
  }
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  SimCluster* const cluster = &cluster_;
  const auto check = [block, header](SimWorker& worker) {
    if (worker.GradientIsWhole(block, Sequence(header.sequence()))) return;
    worker.cluster_.Record(
        LentBytesChanged{absl::StrCat("gradient of block ", header.block(), " of push #",
                                      header.sequence(), " of ", ToString(worker.life_))});
  };
  cluster_.network().Send(
      {.from = process_,
       .to = cluster_.ProcessOf(to),
       .label = label,
       .read =
           [cluster, who = life_, block, bytes, check] {
             SimWorker* worker = cluster->worker(who);
             if (worker == nullptr) return false;
             check(*worker);
             const auto gradient = std::as_bytes(std::span(worker->gradients_[block.value()]));
             bytes->assign(gradient.begin(), gradient.end());
             return true;
           },
       .sent =
           [cluster, who = life_, to, block, check, plant] {
             SimWorker* worker = cluster->worker(who);
             if (worker == nullptr) return;
             if (plant != Plant::kPushReadLate) check(*worker);
             --worker->pushes_being_read_[to.value()];
             worker->logic_.OnPushSent(worker->now(), block);
             worker->Proceed();
           },
       .deliver =
           [cluster, to, header, bytes, plant](bool repeated) {
             const bool remap = repeated && plant == Plant::kReapplyRepeats;
             const wire::PushBlock arrived = remap ? Remapped(header) : header;
             cluster->shard(to).OnPush(arrived, *bytes);
           },
       .lost =
           [cluster, who = life_, to, header, plant] {
             SimWorker* worker = cluster->worker(who);
             if (worker == nullptr || plant != Plant::kAcknowledgeLost) return;
             worker->OnPushAck(to,
                               wire::PushAck(header.session(), header.sequence(), 1, header.view(),
                                             header.block(), wire::Code::Ok, 0, 0, 0));
           },
       .sent_early = plant == Plant::kPushReadLate});
}

void SimWorker::SendPull(ShardIndex to, const wire::PullRequest& header) {
  std::string label;
  if (cluster_.scheduler().tracing()) {
    label = absl::StrCat(ToString(life_), " -> ps ", to.value(), " PullRequest ", header.request(),
                         " blocks ", header.block(), " x", header.count(), " view ", header.view());
  }
  cluster_.network().Send(
      {.from = process_,
       .to = cluster_.ProcessOf(to),
       .label = label,
       .deliver = [cluster = &cluster_, to, header](bool) { cluster->shard(to).OnPull(header); }});
}

void SimWorker::SendTicket(ShardIndex to, const wire::TicketRequest& header) {
  std::string label;
  if (cluster_.scheduler().tracing()) {
    label = absl::StrCat(ToString(life_), " -> ps ", to.value(), " TicketRequest ",
                         header.request(), " completed ", header.completed(), " ",
                         wire::EnumNameTicketAction(header.action()), " view ", header.view());
  }
  cluster_.network().Send({.from = process_,
                           .to = cluster_.ProcessOf(to),
                           .label = label,
                           .deliver = [cluster = &cluster_, to, header](bool) {
                             cluster->shard(to).OnTicket(header);
                           }});
}

void SimWorker::DeliverBlock(BlockId block, Version version, ByteSpan payload) {
  std::vector<float> values(payload.size() / sizeof(float));
  std::memcpy(values.data(), payload.data(), payload.size());
  cluster_.Record(PullDelivered{life_, block, version, std::move(values)});
}

}  // namespace weir::sim
