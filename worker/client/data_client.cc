#include "worker/client/data_client.h"

#include <cstring>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/net/wire_message.h"
#include "worker/client/logic/client_logic.h"
#include "worker/client/shard_connections.h"

namespace weir {
namespace {

// A token says which block's bytes were sent; header-only sends need none.
constexpr std::uint64_t kHeaderOnly = ~std::uint64_t{0};

}  // namespace

/// Connects ClientLogic to a transport: actions become sends, arrivals become events.
class DataClient::Impl : public ClientOutput, public net::TransportEvents {
 public:
  Impl(const Layout& layout, const DataClientOptions& options,
       std::unique_ptr<net::Transport> transport)
      : layout_(layout),
        options_(options),
        transport_(std::move(transport)),
        logic_(layout,
               {.worker = options.worker,
                .incarnation = options.incarnation,
                .shard_names = options.shard_names},
               *this) {}

  // First of all: it reports the sends that are still under way.
  ~Impl() override { transport_.reset(); }

  absl::Status ConnectAll(const ShardConnector& connector) {
    WEIR_ASSIGN_OR_RETURN(
        links_, ShardConnections::Open(layout_, options_, *transport_, connector,
                                       [this](absl::Duration pause) { return PauseFor(pause); }));
    logic_.OnView(MonotonicNow(), options_.view);
    for (int s = 0; s < layout_.shards(); ++s) {
      const ShardIndex shard(static_cast<std::uint16_t>(s));
      logic_.OnConnected(shard, links_.link(shard));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ParameterBuffer> AllocateParameters() {
    return ParameterBuffer::Create(layout_, *transport_);
  }

  absl::Status Pull(ParameterBuffer& weights) {
    StartPull(weights);
    RunUntil([this] { return logic_.pull_result().has_value(); });
    weights_ = nullptr;
    return *logic_.pull_result();
  }

  absl::Status Push(const ParameterBuffer& gradients, Step step) {
    gradients_ = &gradients;
    const absl::Time now = MonotonicNow();
    logic_.StartPush(now, step, now + options_.request_deadline);
    RunUntil([this] { return logic_.push_result().has_value(); });
    const absl::Status result = *logic_.push_result();
    if (!result.ok()) Quiesce();
    return result;
  }

  absl::StatusOr<std::optional<Step>> NextStep(std::optional<Step> completed,
                                               ParameterBuffer& weights) {
    auto step = TakeStep(completed, weights);
    weights_ = nullptr;  // without a step a pull may be left: what comes of it has no place to go
    return step;
  }

  absl::Status Release(std::optional<Step> completed) {
    return Ticket(completed, wire::TicketAction::Release, [] {}).status();
  }

  void OnView(ViewNumber view) {
    {
      MutexLock lock(&mailbox_mutex_);
      new_view_ = std::max(new_view_, view);
    }
    transport_->Wake();
  }

  void Abort(const absl::Status& why) {
    {
      MutexLock lock(&mailbox_mutex_);
      if (aborted_.ok()) aborted_ = why;
      mailbox_changed_.NotifyAll();
    }
    transport_->Wake();
  }

  std::vector<std::pair<ShardIndex, std::string>> paths() const {
    return links_.Paths(*transport_);
  }

  std::uint64_t pushes_acknowledged() const { return logic_.pushes_acknowledged(); }
  std::uint64_t strangers_messages() const { return links_.strangers_messages(); }

 private:
  static constexpr absl::Duration kStaleAfter = absl::Milliseconds(20);

  // ClientOutput
  void SendPush(ShardIndex to, const wire::PushBlock& header) override {
    const BlockId block(header.block());
    const std::span<const float> values = gradients_->block(layout_.block(block));
    transport_->Send(links_.peer(to), static_cast<std::uint8_t>(wire::MessageType::PushBlock),
                     AsBytes(header), std::as_bytes(values), gradients_->memory(),
                     net::SendToken(block.value()));
  }
  void SendPull(ShardIndex to, const wire::PullRequest& header) override {
    SendHeader(to, wire::MessageType::PullRequest, AsBytes(header));
  }
  void SendTicket(ShardIndex to, const wire::TicketRequest& header) override {
    SendHeader(to, wire::MessageType::TicketRequest, AsBytes(header));
  }
  void DeliverBlock(BlockId block, Version, ByteSpan payload) override {
    if (weights_ == nullptr) return;
    std::memcpy(weights_->block(layout_.block(block)).data(), payload.data(), payload.size());
  }
  void SendHeader(ShardIndex to, wire::MessageType type, ByteSpan header) {
    transport_->Send(links_.peer(to), static_cast<std::uint8_t>(type), header, {}, nullptr,
                     net::SendToken(kHeaderOnly));
  }

  // TransportEvents
  void OnMessage(std::uint8_t type, ByteSpan header, ByteSpan payload) override {
    const absl::Time now = MonotonicNow();
    switch (static_cast<wire::MessageType>(type)) {
      case wire::MessageType::PushAck:
        if (const auto ack = net::ReadHeader<wire::PushAck>(header)) {
          if (const auto shard = links_.ShardOf(ack->session()))
            logic_.OnPushAck(now, *shard, *ack);
        }
        return;
      case wire::MessageType::PullBlock:
        if (const auto block = net::ReadHeader<wire::PullBlock>(header)) {
          if (const auto shard = links_.ShardOf(block->session()))
            logic_.OnPullBlock(now, *shard, *block, payload);
        }
        return;
      case wire::MessageType::TicketReply:
        if (const auto reply = net::ReadHeader<wire::TicketReply>(header)) {
          if (const auto shard = links_.ShardOf(reply->session()))
            logic_.OnTicketReply(now, *shard, *reply);
        }
        return;
      default:
        return;  // a shard sends nothing else; its own messages are not for a client
    }
  }
  void OnSent(net::SendToken token, const absl::Status&) override {
    // A failed send needs no other answer: the peer's end or the deadline follows.
    if (token.value() != kHeaderOnly) {
      logic_.OnPushSent(MonotonicNow(), BlockId(static_cast<std::uint32_t>(token.value())));
    }
  }
  void OnPeerDown(net::PeerId peer, const absl::Status& why) override {
    if (const auto shard = links_.ShardOfPeer(peer)) {
      logic_.OnPeerDown(MonotonicNow(), *shard, why);
      transport_->Disconnect(peer);
    }
  }

  absl::StatusOr<std::optional<Step>> TakeStep(std::optional<Step> completed,
                                               ParameterBuffer& weights) {
    StartPull(weights);
    absl::Time pulled = absl::InfiniteFuture();
    WEIR_ASSIGN_OR_RETURN(const TicketResult ticket,
                          Ticket(completed, wire::TicketAction::Next, [&] {
                            if (pulled == absl::InfiniteFuture() && logic_.pull_result())
                              pulled = MonotonicNow();
                          }));
    if (ticket.outcome != wire::TicketOutcome::Granted) return std::optional<Step>();
    RunUntil([this] { return logic_.pull_result().has_value(); });
    WEIR_RETURN_IF_ERROR(*logic_.pull_result());
    // The ticket had to wait for others: what was pulled meanwhile is old.
    if (MonotonicNow() - pulled > kStaleAfter) WEIR_RETURN_IF_ERROR(Pull(weights));
    return std::optional<Step>(ticket.step);
  }

  void StartPull(ParameterBuffer& weights) {
    // NextStep leaves a pull behind when there is no step; the logic knows one at a time.
    if (pull_started_) RunUntil([this] { return logic_.pull_result().has_value(); });
    pull_started_ = true;
    weights_ = &weights;
    const absl::Time now = MonotonicNow();
    logic_.StartPull(now, now + options_.request_deadline);
  }

  // Asks until there is an answer: the wait for other workers' steps has no end of its own; the
  // session's lease ends it (Abort) when the job is gone.
  template <typename EachTurn>
  absl::StatusOr<TicketResult> Ticket(std::optional<Step> completed, wire::TicketAction action,
                                      EachTurn each_turn) {
    while (true) {
      const absl::Time now = MonotonicNow();
      logic_.StartTicket(now, completed, action, now + options_.request_deadline);
      RunUntil([&] {
        each_turn();
        return logic_.ticket_result().has_value();
      });
      absl::StatusOr<TicketResult> result = *logic_.ticket_result();
      if (!absl::IsDeadlineExceeded(result.status()) || action == wire::TicketAction::Release) {
        return result;
      }
      LogInfo("still waiting for a step: other workers hold all that remain, or ps 0 is slow");
    }
  }

  absl::Status PauseFor(absl::Duration pause) {
    MutexLock lock(&mailbox_mutex_);
    if (aborted_.ok()) mailbox_changed_.WaitFor(&mailbox_mutex_, pause);
    return aborted_;
  }

  void ReadMailbox(absl::Time now) {
    ViewNumber view;
    absl::Status aborted;
    {
      MutexLock lock(&mailbox_mutex_);
      view = new_view_;
      aborted = aborted_;
    }
    if (view > seen_view_) {
      seen_view_ = view;
      logic_.OnView(now, view);
    }
    if (!aborted.ok()) logic_.Abort(now, aborted);
  }

  template <typename Done>
  void RunUntil(Done done) {
    while (true) {
      absl::Time now = MonotonicNow();
      ReadMailbox(now);
      const bool busy = transport_->Progress(*this);
      if (done()) return;
      now = MonotonicNow();
      if (now >= logic_.next_tick()) {
        logic_.OnTick(now);
      } else if (!busy) {
        transport_->Wait(std::min(logic_.next_tick() - now, kLongestWait));
      }
    }
  }

  // After a failed push its sends may still read the gradients: close by force and see them end.
  void Quiesce() {
    links_.CloseAll(*transport_);
    const absl::Time give_up = MonotonicNow() + absl::Seconds(5);
    while (logic_.sends_outstanding() > 0 && MonotonicNow() < give_up) {
      if (!transport_->Progress(*this)) transport_->Wait(absl::Milliseconds(10));
    }
  }

  static constexpr absl::Duration kLongestWait = absl::Seconds(1);

  const Layout& layout_;
  const DataClientOptions options_;
  std::unique_ptr<net::Transport> transport_;  // until the destructor
  ClientLogic logic_;
  ShardConnections links_;
  const ParameterBuffer* gradients_ = nullptr;  // of the push under way
  ParameterBuffer* weights_ = nullptr;          // of the pull under way; null: nobody waits for it
  bool pull_started_ = false;
  ViewNumber seen_view_;

  Mutex mailbox_mutex_;
  CondVar mailbox_changed_;
  ViewNumber new_view_ ABSL_GUARDED_BY(mailbox_mutex_);
  absl::Status aborted_ ABSL_GUARDED_BY(mailbox_mutex_);
};

absl::StatusOr<std::unique_ptr<DataClient>> DataClient::Connect(
    const Layout& layout, const DataClientOptions& options,
    std::unique_ptr<net::Transport> transport, const ShardConnector& connector) {
  auto impl = std::make_unique<Impl>(layout, options, std::move(transport));
  WEIR_RETURN_IF_ERROR(impl->ConnectAll(connector));
  return std::unique_ptr<DataClient>(new DataClient(std::move(impl)));
}

DataClient::DataClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DataClient::~DataClient() = default;

absl::StatusOr<ParameterBuffer> DataClient::AllocateParameters() {
  return impl_->AllocateParameters();
}
absl::Status DataClient::Pull(ParameterBuffer& weights) { return impl_->Pull(weights); }
absl::Status DataClient::Push(const ParameterBuffer& gradients, Step step) {
  return impl_->Push(gradients, step);
}
absl::StatusOr<std::optional<Step>> DataClient::NextStep(std::optional<Step> completed,
                                                         ParameterBuffer& weights) {
  return impl_->NextStep(completed, weights);
}
absl::Status DataClient::Release(std::optional<Step> completed) {
  return impl_->Release(completed);
}
void DataClient::OnView(ViewNumber view) { impl_->OnView(view); }
void DataClient::Abort(const absl::Status& why) { impl_->Abort(why); }
std::vector<std::pair<ShardIndex, std::string>> DataClient::paths() const { return impl_->paths(); }
std::uint64_t DataClient::pushes_acknowledged() const { return impl_->pushes_acknowledged(); }
std::uint64_t DataClient::strangers_messages() const { return impl_->strangers_messages(); }

}  // namespace weir
