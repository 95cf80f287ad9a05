#include "worker/client/logic/client_logic.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "worker/client/logic/answer_checks.h"
#include "worker/client/logic/client_state.h"
#include "worker/client/logic/pull_operation.h"
#include "worker/client/logic/push_operation.h"
#include "worker/client/logic/step_exchange.h"
#include "worker/client/logic/step_operation.h"
#include "worker/client/logic/ticket_operation.h"

namespace weir {

class ClientLogic::Impl {
 public:
  Impl(const Layout& layout, const ClientLogicOptions& options, ClientOutput& output)
      : state(layout, options, output),
        push(state),
        pull(state),
        ticket(state),
        exchange(state, push, pull),
        next_step(state, ticket, pull) {}

  /// Whether an answer of `shard` is to be looked at; `wrong`: what no shard sends, or null.
  bool Admits(ClientLogic& self, absl::Time now, ShardIndex shard, std::uint64_t session,
              const char* wrong) {
    if (!state.Knows(shard, session)) {
      ++state.dropped;
      return false;
    }
    if (wrong != nullptr) self.OnMalformed(now, shard, wrong);
    return wrong == nullptr;
  }

  // What ends one operation may be what another waits for.
  void Proceed(absl::Time now) {
    exchange.Proceed(now);
    next_step.Proceed(now);
  }

  client::ClientState state;
  client::PushOperation push;
  client::PullOperation pull;
  client::TicketOperation ticket;
  client::StepExchange exchange;
  client::StepOperation next_step;
};

ClientLogic::ClientLogic(const Layout& layout, const ClientLogicOptions& options,
                         ClientOutput& output)
    : impl_(std::make_unique<Impl>(layout, options, output)) {}

ClientLogic::~ClientLogic() = default;

void ClientLogic::OnConnected(ShardIndex shard, const ShardLink& link) {
  impl_->state.links[shard.value()] = {.connected = true, .link = link, .down = {}};
  impl_->push.OnConnected(shard);
  impl_->pull.OnConnected(shard);
}

void ClientLogic::OnView(absl::Time now, ViewNumber view) {
  if (view <= impl_->state.view) return;
  impl_->state.view = view;
  impl_->push.OnView(now);
  impl_->pull.OnView(now);
  impl_->ticket.OnView(now);
  impl_->Proceed(now);
}

void ClientLogic::StartPush(absl::Time now, Step step, absl::Time deadline) {
  impl_->push.Start(now, step, deadline);
}

void ClientLogic::StartPull(absl::Time now, absl::Time deadline) {
  impl_->pull.Start(now, deadline);
}

void ClientLogic::StartTicket(absl::Time now, std::optional<Step> completed,
                              wire::TicketAction action, absl::Time deadline) {
  impl_->ticket.Start(now, completed, action, deadline);
}

void ClientLogic::StartNextStep(absl::Time now, std::optional<Step> completed, NextWeights weights,
                                absl::Duration patience) {
  impl_->next_step.Start(now, completed, weights, patience);
}

void ClientLogic::Interrupt() { impl_->next_step.Interrupt(); }

void ClientLogic::StartExchange(absl::Time now, Step step, absl::Time deadline) {
  impl_->exchange.Start(now, step, deadline);
}

bool ClientLogic::GradientReady(absl::Time now, std::size_t tensor) {
  return impl_->exchange.GradientReady(now, tensor);
}

bool ClientLogic::all_gradients_ready() const { return impl_->exchange.all_ready(); }
bool ClientLogic::GradientIsReady(std::size_t tensor) const {
  return impl_->exchange.GradientIsReady(tensor);
}
bool ClientLogic::WeightsHere(std::size_t tensor) const {
  return impl_->exchange.WeightsHere(tensor);
}
void ClientLogic::CancelExchange(absl::Time now) { impl_->exchange.Cancel(now); }

void ClientLogic::ExtendDeadlines(absl::Time deadline) {
  impl_->push.Extend(deadline);
  impl_->pull.Extend(deadline);
}

std::optional<absl::Status> ClientLogic::push_result() const { return impl_->push.result(); }
std::optional<absl::Status> ClientLogic::pull_result() const { return impl_->pull.result(); }
std::optional<absl::StatusOr<TicketResult>> ClientLogic::ticket_result() const {
  return impl_->ticket.result();
}
std::optional<absl::StatusOr<TicketResult>> ClientLogic::next_step_result() const {
  return impl_->next_step.result();
}

void ClientLogic::OnPushAck(absl::Time now, ShardIndex shard, const wire::PushAck& ack) {
  const char* const wrong =
      client::Malformed(impl_->state.layout, shard, ack, impl_->push.sequence());
  if (!impl_->Admits(*this, now, shard, ack.session(), wrong)) return;
  if (const auto block = impl_->push.OnAck(now, shard, ack)) {
    impl_->exchange.OnAcknowledged(now, *block);
  }
  impl_->Proceed(now);
}

void ClientLogic::OnPullBlock(absl::Time now, ShardIndex shard, const wire::PullBlock& header,
                              ByteSpan payload) {
  const char* const wrong =
      client::Malformed(impl_->state.layout, shard, header, payload.size(), impl_->pull.request());
  if (!impl_->Admits(*this, now, shard, header.session(), wrong)) return;
  impl_->pull.OnBlock(now, shard, header, payload);
  impl_->Proceed(now);
}

void ClientLogic::OnTicketReply(absl::Time now, ShardIndex shard, const wire::TicketReply& reply) {
  const char* const wrong = client::Malformed(shard, reply, impl_->ticket.request());
  if (!impl_->Admits(*this, now, shard, reply.session(), wrong)) return;
  impl_->ticket.OnReply(now, reply);
  impl_->Proceed(now);
}

void ClientLogic::OnRead(absl::Time now, BlockId block, std::optional<Version> version) {
  impl_->pull.OnRead(now, block, version);
  impl_->Proceed(now);
}

void ClientLogic::OnPushSent(absl::Time now, BlockId block) {
  impl_->push.OnSent(now, block);
  impl_->Proceed(now);
}

void ClientLogic::OnPeerDown(absl::Time now, ShardIndex shard, const absl::Status& why) {
  client::Link& link = impl_->state.links[shard.value()];
  link.connected = false;
  link.down = why;
  impl_->push.OnPeerDown(now, shard, why);
  impl_->pull.OnPeerDown(now, shard, why);
  impl_->ticket.OnPeerDown(now, shard, why);
  impl_->Proceed(now);
}

void ClientLogic::OnMalformed(absl::Time now, ShardIndex shard, absl::string_view what) {
  if (!impl_->state.links[shard.value()].connected) return;  // what was on its way meanwhile
  const absl::Status why = absl::UnavailableError(
      absl::StrCat("closed the connection to ", impl_->state.NameOf(shard), ": it sent ", what,
                   "; do worker and ps run the same version of weir?"));
  impl_->state.output.CloseShard(shard, why);
  OnPeerDown(now, shard, why);
}

void ClientLogic::Abort(absl::Time now, const absl::Status& why) {
  impl_->push.Abort(now, why);
  impl_->pull.Abort(now, why);
  impl_->ticket.Abort(why);
  impl_->Proceed(now);
}

void ClientLogic::OnTick(absl::Time now) {
  impl_->push.OnTick(now);
  impl_->pull.OnTick(now);
  impl_->ticket.OnTick(now);
  impl_->Proceed(now);
}

absl::Time ClientLogic::next_tick() const {
  return std::min({impl_->push.next_tick(), impl_->pull.next_tick(), impl_->ticket.next_tick()});
}

std::uint64_t ClientLogic::ticket_renewals() const { return impl_->next_step.renewals(); }
RequestId ClientLogic::pull_request() const { return impl_->pull.request(); }
Version ClientLogic::version(BlockId block) const { return impl_->state.versions[block.value()]; }
WorkerClock ClientLogic::clock() const { return impl_->push.clock(); }
std::uint64_t ClientLogic::pushes_acknowledged() const { return impl_->push.acknowledged(); }
std::uint64_t ClientLogic::messages_dropped() const { return impl_->state.dropped; }
int ClientLogic::sends_outstanding() const { return impl_->push.sends_outstanding(); }

}  // namespace weir
