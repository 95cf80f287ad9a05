#include "worker/client/logic/client_logic.h"

#include <algorithm>

#include "worker/client/logic/client_state.h"
#include "worker/client/logic/pull_operation.h"
#include "worker/client/logic/push_operation.h"
#include "worker/client/logic/ticket_operation.h"

namespace weir {

class ClientLogic::Impl {
 public:
  Impl(const Layout& layout, const ClientLogicOptions& options, ClientOutput& output)
      : state(layout, options, output), push(state), pull(state), ticket(state) {}

  client::ClientState state;
  client::PushOperation push;
  client::PullOperation pull;
  client::TicketOperation ticket;
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

std::optional<absl::Status> ClientLogic::push_result() const { return impl_->push.result(); }
std::optional<absl::Status> ClientLogic::pull_result() const { return impl_->pull.result(); }
std::optional<absl::StatusOr<TicketResult>> ClientLogic::ticket_result() const {
  return impl_->ticket.result();
}

void ClientLogic::OnPushAck(absl::Time now, ShardIndex shard, const wire::PushAck& ack) {
  impl_->push.OnAck(now, shard, ack);
}

void ClientLogic::OnPullBlock(absl::Time now, ShardIndex shard, const wire::PullBlock& header,
                              ByteSpan payload) {
  impl_->pull.OnBlock(now, shard, header, payload);
}

void ClientLogic::OnTicketReply(absl::Time now, ShardIndex shard, const wire::TicketReply& reply) {
  impl_->ticket.OnReply(now, shard, reply);
}

void ClientLogic::OnPushSent(absl::Time now, BlockId block) { impl_->push.OnSent(now, block); }

void ClientLogic::OnPeerDown(absl::Time now, ShardIndex shard, const absl::Status& why) {
  client::Link& link = impl_->state.links[shard.value()];
  link.connected = false;
  link.down = why;
  impl_->push.OnPeerDown(now, shard, why);
  impl_->pull.OnPeerDown(now, shard, why);
  impl_->ticket.OnPeerDown(now, shard, why);
}

void ClientLogic::Abort(absl::Time now, const absl::Status& why) {
  impl_->push.Abort(now, why);
  impl_->pull.Abort(now, why);
  impl_->ticket.Abort(why);
}

void ClientLogic::OnTick(absl::Time now) {
  impl_->push.OnTick(now);
  impl_->pull.OnTick(now);
  impl_->ticket.OnTick(now);
}

absl::Time ClientLogic::next_tick() const {
  return std::min({impl_->push.next_tick(), impl_->pull.next_tick(), impl_->ticket.next_tick()});
}

Version ClientLogic::version(BlockId block) const { return impl_->state.versions[block.value()]; }
WorkerClock ClientLogic::clock() const { return impl_->push.clock(); }
std::uint64_t ClientLogic::pushes_acknowledged() const { return impl_->push.acknowledged(); }
std::uint64_t ClientLogic::messages_dropped() const { return impl_->state.dropped; }
int ClientLogic::sends_outstanding() const { return impl_->push.sends_outstanding(); }

}  // namespace weir
