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
#include "worker/client/logic/mapped_read.h"

namespace weir::sim {
namespace {

constexpr absl::Duration kRetryAfter = absl::Milliseconds(50);
// Far beyond what any number of losses takes: an operation that reaches it is stuck.
constexpr absl::Duration kPatience = absl::Minutes(20);
// As ClientEngine's: smaller blocks travel with their push.
constexpr std::size_t kLeastElementsToRead = 5;
// A question for a step is made anew after this; nothing else ends by it.
constexpr absl::Duration kTicketPatience = absl::Milliseconds(200);

// The plant's repetition, which the shard cannot know as one.
wire::PushBlock Remapped(const wire::PushBlock& h) {
  return wire::PushBlock(h.session(), h.incarnation(), h.sequence() + kRemapped, h.base_version(),
                         h.step(), h.view(), h.block(), h.clock(), h.blocks_here(), h.worker(),
                         h.codec(), 0);
}

// The plants' acknowledgement, which no shard gave.
wire::PushAck AckOf(const wire::PushBlock& h) {
  return wire::PushAck(h.session(), h.sequence(), 1, h.view(), h.block(), wire::Code::Ok, 0, 0, 0);
}

}  // namespace

SimWorker::SimWorker(SimCluster& cluster, const Life& life, ProcessId process,
                     const std::vector<ShardLink>& links,
                     const std::vector<std::optional<SimMapping>>& mappings, bool far,
                     std::function<void(absl::Status)> ended)
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
      mappings_(mappings),
      far_(far),
      read_before_(cluster.layout().blocks().size()),
      weights_(cluster.layout().blocks().size()),
      pushes_being_read_(static_cast<std::size_t>(cluster.layout().shards())) {
  for (const Block& block : cluster.layout().blocks()) {
    gradients_.push_back(
        std::make_shared<std::vector<float>>(static_cast<std::size_t>(block.elements)));
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
  AskForStep(std::nullopt, NextWeights::kPullAll);
  SetAlarm();
}

void SimWorker::OnView(ViewNumber view) {
  told_ = std::max(told_, view);
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
  const RequestId before = logic_.pull_request();
  logic_.OnTicketReply(now(), shard, reply);
  if (logic_.pull_request() != before) {
    cluster_.Count("pulled again");
    logic_.ExtendDeadlines(deadline());
  }
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

void SimWorker::Interrupt() {
  told_to_leave_ = true;
  InterruptWait();
  Proceed();
}

void SimWorker::Begin(Operation what) {
  running_.insert(what);
  const bool push = what == Operation::kPush;
  cluster_.Record(OperationStarted{life_, what, push ? sequence_ : Sequence(),
                                   push ? step_ : Step(), push && stage_ == Stage::kExchanging});
}

void SimWorker::AskForStep(std::optional<Step> completed, NextWeights weights) {
  stage_ = Stage::kAsking;
  completed_ = completed;
  Begin(Operation::kTicket);
  logic_.StartNextStep(now(), completed, weights, kTicketPatience);
  logic_.ExtendDeadlines(deadline());
  if (LeavesNow()) InterruptWaitLater();
}

void SimWorker::InterruptWaitLater() {
  After(cluster_.random().Upto(4 * cluster_.scenario().delay), &SimWorker::InterruptWait);
}

void SimWorker::InterruptWait() {
  // Perhaps it waits no more, or for the step after that.
  interrupted_ = stage_ == Stage::kAsking && !logic_.next_step_result();
  if (interrupted_) logic_.Interrupt();
}

void SimWorker::Release(std::optional<Step> completed) {
  stage_ = Stage::kReleasing;
  Begin(Operation::kTicket);
  logic_.StartTicket(now(), completed, wire::TicketAction::Release, deadline());
}

void SimWorker::FinishStep(NextWeights weights) {
  if (LeavesNow()) return Release(step_);
  AskForStep(step_, weights);
}

bool SimWorker::LeavesNow() {
  if (told_to_leave_) return true;
  return life_.worker != WorkerIndex(0) &&
         cluster_.random().Chance(cluster_.scenario().release_early);
}

void SimWorker::TakeStep(Step step) {
  step_ = step;
  own_pull_ = logic_.pull_request();
  cluster_.Record(StepGranted{life_, step_});
  if (LeavesNow()) return Release(std::nullopt);  // with the step in hand
  if (cluster_.random().Chance(cluster_.scenario().by_tensor)) {
    StartExchange();
  } else {
    stage_ = Stage::kPulling;
  }
}

void SimWorker::StartPush() {
  stage_ = Stage::kPushing;
  sequence_ = sequence_.next();
  Begin(Operation::kPush);
  for (std::size_t tensor = 0; tensor < cluster_.layout().tensors().size(); ++tensor) {
    ReadWeights(tensor);
    MakeGradient(tensor);
  }
  logic_.StartPush(now(), step_, deadline());
  if (cluster_.random().Chance(cluster_.scenario().overlap)) logic_.StartPull(now(), deadline());
}

void SimWorker::StartExchange() {
  stage_ = Stage::kExchanging;
  cluster_.Count("step by tensor");
  sequence_ = sequence_.next();
  plan_ = MakeStepPlan(cluster_.random(), cluster_.layout().tensors().size());
  Begin(Operation::kPush);
  logic_.StartExchange(now(), step_, deadline());
  if (cluster_.scenario().plant == Plant::kGradientEarly) logic_.GradientReady(now(), 0);
  ComputeLater();
}

void SimWorker::ComputeLater() {
  computing_ = !plan_.done();
  if (computing_) After(cluster_.random().Upto(cluster_.scenario().compute), &SimWorker::Compute);
}

void SimWorker::Compute() {
  computing_ = false;
  if (stage_ != Stage::kExchanging || plan_.done()) return;
  const auto [action, tensor] = plan_.items[plan_.next];
  if (action == StepPlan::Action::kAwaitWeights) {
    if (!logic_.WeightsHere(tensor)) return;  // Proceed comes back to it
    ReadWeights(tensor);
  } else {
    if (logic_.pull_request() == own_pull_ && !logic_.pull_result()) {
      cluster_.Count("early gradient");
    }
    MakeGradient(tensor);
    logic_.GradientReady(now(), tensor);
  }
  ++plan_.next;
  ComputeLater();
}

void SimWorker::ReadWeights(std::size_t tensor) {
  for (const Block& block : cluster_.layout().blocks()) {
    if (block.tensor != tensor) continue;
    cluster_.Record(WeightsRead{life_, block.id, weights_[block.id.value()]});
  }
}

void SimWorker::MakeGradient(std::size_t tensor) {
  for (const Block& block : cluster_.layout().blocks()) {
    if (block.tensor != tensor) continue;
    cluster_.Record(GradientMade{life_, sequence_, block.id});
    std::vector<float>& gradient = *gradients_[block.id.value()];
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = GradientOf(life_, sequence_, block.id, i);
    }
  }
}

void SimWorker::NotePull() {
  if (pull_ == logic_.pull_request()) return;
  pull_ = logic_.pull_request();
  if (running_.erase(Operation::kPull) > 0) {
    cluster_.Record(OperationEnded{life_, Operation::kPull, absl::OkStatus()});
  }
  Begin(Operation::kPull);
}

bool SimWorker::Ended(Operation what, const std::optional<absl::Status>& result) {
  if (!running(what) || !result) return false;
  running_.erase(what);
  cluster_.Record(OperationEnded{life_, what, *result});
  if (!result->ok()) done_ = true;
  failure_.Update(*result);
  return true;
}

void SimWorker::Proceed() {
  NotePull();
  if (!done_) Ended(Operation::kPull, logic_.pull_result());
  if (!done_ && Ended(Operation::kPush, logic_.push_result()) && !done_) {
    ++steps_;
    SpoilGradients();  // after a failed push its sends may go on, so only now
  }
  if (!done_) ProceedStage();
  NotePull();
  if (done_) TellWhenDone();
  SetAlarm();
}

void SimWorker::TellWhenDone() {
  if (!ended_) return;
  cluster_.processes().After(
      process_, absl::ZeroDuration(),
      [ended = std::exchange(ended_, nullptr), failure = failure_] { ended(failure); });
}

void SimWorker::ProceedStage() {
  switch (stage_) {
    case Stage::kAsking:
    case Stage::kReleasing:
      return ProceedFromAnswer();
    case Stage::kPulling:
      if (!running(Operation::kPull)) StartPush();
      return;
    case Stage::kPushing:
      if (running_.empty()) FinishStep(NextWeights::kPullAll);
      return;
    case Stage::kExchanging:
      if (!computing_) Compute();
      if (!running(Operation::kPush) && plan_.done()) FinishStep(NextWeights::kFollowed);
      return;
    case Stage::kLeaving:
      done_ = running_.empty();
      return;
  }
}

void SimWorker::ProceedFromAnswer() {
  const bool releasing = stage_ == Stage::kReleasing;
  const auto answer = releasing ? logic_.ticket_result() : logic_.next_step_result();
  if (!answer) return;
  if (std::exchange(interrupted_, false)) {
    running_.erase(Operation::kTicket);
    cluster_.Count("interrupt");
    cluster_.Record(OperationEnded{life_, Operation::kTicket, absl::OkStatus()});
    return Release(completed_);
  }
  if (!Ended(Operation::kTicket, answer->status()) || done_) return;
  if ((*answer)->outcome == wire::TicketOutcome::Granted) return TakeStep((*answer)->step);
  stage_ = Stage::kLeaving;
  ProceedStage();
}

void SimWorker::After(absl::Duration delay, void (SimWorker::*what)()) {
  cluster_.processes().After(process_, delay, [cluster = &cluster_, who = life_, what] {
    SimWorker* worker = cluster->worker(who);
    if (worker == nullptr || worker->done_) return;
    (worker->*what)();
    worker->Proceed();
  });
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

void SimWorker::SpoilGradients() {
  // The worker's next use of its memory: whoever still reads it sends nonsense.
  for (const auto& gradient : gradients_) {
    std::ranges::fill(*gradient, std::numeric_limits<float>::quiet_NaN());
  }
}

bool SimWorker::GradientIsWhole(BlockId block, Sequence sequence) const {
  const std::vector<float>& gradient = *gradients_[block.value()];
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (gradient[i] != GradientOf(life_, sequence, block, i)) return false;
  }
  return true;
}

void SimWorker::SendPush(ShardIndex to, const wire::PushBlock& header) {
  const BlockId block(header.block());
  const Plant plant = cluster_.scenario().plant;
  cluster_.Record(
      PushSent{life_, Sequence(header.sequence()), block, Version(header.base_version())});
  cluster_.Level(absl::StrCat("pushes being read to ps ", to.value()),
                 ++pushes_being_read_[to.value()], cluster_.scenario().push_credits);
  std::string label;
  if (cluster_.scheduler().tracing()) {
    label = absl::StrCat(ToString(life_), " -> ps ", to.value(), " PushBlock #", header.sequence(),
                         " block ", header.block(), " view ", header.view());
  }
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  SimCluster* const cluster = &cluster_;
  const std::shared_ptr<std::vector<float>> mapped =
      PushesFromMemory(to) ? gradients_[block.value()] : nullptr;
  const std::shared_ptr<std::vector<float>> far =
      far_ && gradients_[block.value()]->size() >= kLeastElementsToRead ? gradients_[block.value()]
                                                                        : nullptr;
  const auto check = [block, header](SimWorker& worker) {
    if (worker.GradientIsWhole(block, Sequence(header.sequence()))) return;
    worker.cluster_.Record(
        LentBytesChanged{absl::StrCat("gradient of block ", header.block(), " of push #",
                                      header.sequence(), " of ", ToString(worker.life_))});
  };
  if (plant == Plant::kAcknowledgeEarly) {
    cluster_.processes().After(process_, absl::ZeroDuration(), [cluster, who = life_, to, header] {
      SimWorker* worker = cluster->worker(who);
      if (worker != nullptr) worker->OnPushAck(to, AckOf(header));
    });
  }
  cluster_.network().Send({.from = process_,
                           .to = cluster_.ProcessOf(to),
                           .label = label,
                           .read =
                               [cluster, who = life_, block, bytes, check] {
                                 SimWorker* worker = cluster->worker(who);
                                 if (worker == nullptr) return false;
                                 check(*worker);
                                 const auto gradient =
                                     std::as_bytes(std::span(*worker->gradients_[block.value()]));
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
                               [cluster, to, header, bytes, plant, mapped, far](bool repeated) {
                                 const bool remap = repeated && plant == Plant::kReapplyRepeats;
                                 const wire::PushBlock arrived = remap ? Remapped(header) : header;
                                 if (far != nullptr) {
                                   return cluster->shard(to).OnPushToFetch(arrived, far);
                                 }
                                 if (mapped != nullptr) {
                                   // Only now, and whoever lives by then.
                                   cluster->Count("push from memory");
                                   const auto there = std::as_bytes(std::span(*mapped));
                                   bytes->assign(there.begin(), there.end());
                                 }
                                 cluster->shard(to).OnPush(arrived, *bytes);
                               },
                           .lost =
                               [cluster, who = life_, to, header, plant] {
                                 SimWorker* worker = cluster->worker(who);
                                 if (worker == nullptr || plant != Plant::kAcknowledgeLost) return;
                                 worker->OnPushAck(to, AckOf(header));
                               },
                           .sent_early = plant == Plant::kPushReadLate});
}

void SimWorker::SendPull(ShardIndex to, const wire::PullRequest& header) {
  NotePull();
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

std::optional<Version> SimWorker::TryRead(const MappedRead& read) {
  const std::optional<SimMapping>& mapping = mappings_[read.from.value()];
  if (!mapping.has_value()) return std::nullopt;
  NotePull();
  std::vector<float> values(static_cast<std::size_t>(cluster_.layout().block(read.block).elements));
  const Plant plant = cluster_.scenario().plant;
  MappedRead asked = read;
  ViewNumber newest = told_;
  if (plant == Plant::kReadStaleView) newest = asked.view = mapping->reader.view();
  const std::optional<Version> version = ReadMapped(mapping->reader, asked, newest, values);
  cluster_.Count(version.has_value() ? "mapped read" : "mapped read declined");
  if (!version.has_value()) return std::nullopt;
  if (!cluster_.processes().alive(mapping->ps)) {
    cluster_.Count("mapped read of a dead ps");
  } else if (cluster_.processes().frozen(mapping->ps)) {
    cluster_.Count("mapped read of a frozen ps");
  }
  std::vector<float>& before = read_before_[read.block.value()];
  if (plant == Plant::kReadTorn && !before.empty()) {
    std::copy(before.begin() + static_cast<std::ptrdiff_t>(before.size() / 2), before.end(),
              values.begin() + static_cast<std::ptrdiff_t>(before.size() / 2));
  }
  before = values;
  weights_[read.block.value()] = *version;
  cluster_.Record(MappedReadMade{life_, read.from, read.view});
  cluster_.Record(PullDelivered{life_, read.block, *version, std::move(values)});
  return version;
}

void SimWorker::DeliverBlock(BlockId block, Version version, ByteSpan payload) {
  std::vector<float> values(payload.size() / sizeof(float));
  std::memcpy(values.data(), payload.data(), payload.size());
  weights_[block.value()] = version;
  cluster_.Record(PullDelivered{life_, block, version, std::move(values)});
}

void SimWorker::CloseShard(ShardIndex shard, const absl::Status& why) {
  cluster_.Record(PeerAccused{absl::StrCat("shard ", shard.value()), std::string(why.message())});
}

}  // namespace weir::sim
