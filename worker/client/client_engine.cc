#include "worker/client/client_engine.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/net/wire_message.h"
#include "worker/client/logic/mapped_read.h"

namespace weir {
namespace {

// A token says which block's bytes were sent; header-only sends need none.
constexpr std::uint64_t kHeaderOnly = ~std::uint64_t{0};
constexpr absl::Duration kLongestWait = absl::Seconds(1);
// Who was away finds answers first, and then no request due that was answered long ago. But what
// arrives without end must not keep a deadline from being seen.
constexpr absl::Duration kTicksMayWait = absl::Milliseconds(100);
// Smaller blocks travel with their push where they would have to be read from afar, which takes
// another round trip. (See docs/decisions/0020 for the measurement.)
constexpr std::size_t kLeastBytesToRead = 16 * 1024;

}  // namespace

ClientEngine::ClientEngine(const Layout& layout, const DataClientOptions& options,
                           std::unique_ptr<net::Transport> transport)
    : layout_(layout),
      options_(options),
      transport_(std::move(transport)),
      logic_(layout,
             {.worker = options.worker,
              .incarnation = options.incarnation,
              .shard_names = options.shard_names},
             *this),
      exports_(static_cast<std::size_t>(layout.shards())),
      gradient_places_(layout.blocks().size()) {}

// First of all the transport, without what it mapped and opened: it reports the sends and the gets
// that are still under way, and nothing of that may lead to another.
ClientEngine::~ClientEngine() {
  logic_.Abort(MonotonicNow(), absl::CancelledError("the client ends"));
  if (logic_.sends_outstanding() > 0 || links_.reads_outstanding() > 0) Quiesce();
  links_.LetGoOfMemory();
  transport_.reset();
}

absl::Status ClientEngine::ConnectAll(const ShardConnector& connector) {
  WEIR_ASSIGN_OR_RETURN(
      links_, ShardConnections::Open(
                  layout_, options_, *transport_, connector,
                  [this](absl::Duration pause) { return PauseFor(pause); },
                  [this](const OneSidedReader::Read& read, std::optional<Version> version) {
                    OnRead(read, version);
                  }));
  logic_.OnView(MonotonicNow(), options_.view);
  for (int s = 0; s < layout_.shards(); ++s) {
    const ShardIndex shard(static_cast<std::uint16_t>(s));
    logic_.OnConnected(shard, links_.link(shard));
  }
  return absl::OkStatus();
}

absl::StatusOr<ParameterBuffer> ClientEngine::AllocateParameters() {
  return ParameterBuffer::Create(layout_, *transport_);
}

void ClientEngine::PushFrom(const ParameterBuffer& gradients) {
  gradients_ = &gradients;
  for (int s = 0; s < layout_.shards(); ++s) Announce(ShardIndex(static_cast<std::uint16_t>(s)));
}

void ClientEngine::Announce(ShardIndex shard) {
  const std::optional<wire::MemoryAccess> access = links_.push_access(shard);
  if (!access.has_value() || !exports_.BeginAnnouncement(shard, *gradients_)) return;
  const wire::ExportMemory header(links_.link(shard).session, gradients_->id(),
                                  gradients_->memory()->bytes().size(),
                                  static_cast<std::uint8_t>(*access), 0, 0, 0);
  const std::string& key = gradients_->memory()->remote_key();
  transport_->Send(links_.peer(shard), static_cast<std::uint8_t>(wire::MessageType::ExportMemory),
                   AsBytes(header), std::as_bytes(std::span(key)), nullptr,
                   net::SendToken(kHeaderOnly));
}

void ClientEngine::OnMemoryMapped(absl::Time now, ShardIndex shard,
                                  const wire::MemoryMapped& answer) {
  if (answer.outcome() > wire::MapOutcome::MAX) {
    return logic_.OnMalformed(now, shard, "an answer to exported memory with an unknown outcome");
  }
  const bool mapped = answer.outcome() == wire::MapOutcome::Mapped;
  if (!exports_.EndAnnouncement(shard, answer.memory(), mapped) || mapped) return;
  const absl::Status refused = links_.PushByMessage(shard);
  if (options_.mapping == Mapping::kRequired) {
    Abort(refused);
  } else {
    LogWarning(refused.message());
  }
}

void ClientEngine::SendPush(ShardIndex to, const wire::PushBlock& header) {
  const Block& block = layout_.block(BlockId(header.block()));
  constexpr auto kType = static_cast<std::uint8_t>(wire::MessageType::PushBlock);
  const net::SendToken token(block.id.value());
  if (!NamesGradient(to, block)) {
    return transport_->Send(links_.peer(to), kType, AsBytes(header),
                            std::as_bytes(gradients_->block(block)), gradients_->memory().get(),
                            token);
  }
  ++(links_.reader(to) != nullptr ? one_sided_pushes_ : mapped_pushes_);
  wire::PushBlock naming = header;
  naming.mutate_source(static_cast<std::uint8_t>(wire::PushSource::Memory));
  wire::GradientPlace& place = gradient_places_[block.id.value()];
  place = wire::GradientPlace(gradients_->id(), gradients_->offset(block));
  transport_->Send(links_.peer(to), kType, AsBytes(naming), AsBytes(place), nullptr, token);
}

bool ClientEngine::NamesGradient(ShardIndex to, const Block& block) const {
  if (!exports_.IsKnown(to, *gradients_)) return false;
  return links_.reader(to) == nullptr ||
         static_cast<std::size_t>(block.bytes()) >= kLeastBytesToRead;
}

void ClientEngine::SendPull(ShardIndex to, const wire::PullRequest& header) {
  SendHeader(to, wire::MessageType::PullRequest, AsBytes(header));
}

void ClientEngine::SendTicket(ShardIndex to, const wire::TicketRequest& header) {
  SendHeader(to, wire::MessageType::TicketRequest, AsBytes(header));
}

void ClientEngine::SendHeader(ShardIndex to, wire::MessageType type, ByteSpan header) {
  transport_->Send(links_.peer(to), static_cast<std::uint8_t>(type), header, {}, nullptr,
                   net::SendToken(kHeaderOnly));
}

void ClientEngine::Count(BlockId block, bool read, DataClient::MappedReads& reads) const {
  if (!read) {
    ++reads.declined;
    return;
  }
  ++reads.blocks;
  reads.bytes += static_cast<std::uint64_t>(layout_.block(block).bytes());
}

std::optional<Version> ClientEngine::TryRead(const MappedRead& read) {
  const arena::Reader* const arena = links_.arena(read.from);
  if (arena == nullptr) return std::nullopt;
  std::optional<Version> version;
  if (weights_ != nullptr) {
    const ViewNumber newest(reads_until_view_.load(std::memory_order_acquire));
    version = ReadMapped(*arena, read, newest, weights_->block(layout_.block(read.block)));
  }
  Count(read.block, version.has_value(), mapped_reads_);
  return version;
}

bool ClientEngine::StartRead(const MappedRead& read) {
  OneSidedReader* const reader = links_.reader(read.from);
  if (reader == nullptr || weights_ == nullptr || !MayRead(read.view)) return false;
  reader->Add({.block = read.block,
               .position = read.position,
               .to = weights_->block(layout_.block(read.block)),
               .memory = weights_->memory().get(),
               .view = read.view,
               .at_least = read.at_least});
  return true;
}

void ClientEngine::OnRead(const OneSidedReader::Read& read, std::optional<Version> version) {
  if (!MayRead(read.view)) version.reset();
  Count(read.block, version.has_value(), one_sided_reads_);
  logic_.OnRead(MonotonicNow(), read.block, version);
}

void ClientEngine::OnGot(net::GetToken token, const absl::Status& status) {
  links_.reader(ShardIndex(static_cast<std::uint16_t>(token.value())))->OnGot(status);
}

void ClientEngine::PullInto(ParameterBuffer* weights) {
  if (weights == weights_) return;
  weights_ = nullptr;  // what is asked for from now on comes by message, to no place
  const absl::Time give_up = MonotonicNow() + options_.request_deadline;
  while (links_.reads_outstanding() > 0) {
    if (MonotonicNow() >= give_up || aborted()) {
      Quiesce();
      break;
    }
    if (!Progress()) transport_->Wait(absl::Milliseconds(10));
  }
  weights_ = weights;
}

void ClientEngine::DeliverBlock(BlockId block, Version, ByteSpan payload) {
  if (weights_ == nullptr) return;
  std::memcpy(weights_->block(layout_.block(block)).data(), payload.data(), payload.size());
}

void ClientEngine::CloseShard(ShardIndex shard, const absl::Status& why) {
  LogWarning(why.message());
  transport_->Disconnect(links_.peer(shard));
}

template <typename Struct, typename Handler>
void ClientEngine::Dispatch(absl::Time now, ShardIndex from, ByteSpan header, Handler handler) {
  if (const auto read = net::ReadHeader<Struct>(header)) return handler(*read);
  logic_.OnMalformed(
      now, from,
      absl::StrCat("a header of ", header.size(), " bytes where there are ", sizeof(Struct)));
}

void ClientEngine::OnMessage(std::uint8_t type, ByteSpan header, ByteSpan payload) {
  const std::optional<ShardIndex> from = links_.ShardOf(net::SessionOf(header));
  if (!from.has_value()) return;
  const absl::Time now = MonotonicNow();
  switch (static_cast<wire::MessageType>(type)) {
    case wire::MessageType::PushAck:
      return Dispatch<wire::PushAck>(
          now, *from, header, [&](const wire::PushAck& ack) { logic_.OnPushAck(now, *from, ack); });
    case wire::MessageType::PullBlock:
      return Dispatch<wire::PullBlock>(now, *from, header, [&](const wire::PullBlock& block) {
        logic_.OnPullBlock(now, *from, block, payload);
      });
    case wire::MessageType::MemoryMapped:
      return Dispatch<wire::MemoryMapped>(
          now, *from, header,
          [&](const wire::MemoryMapped& answer) { OnMemoryMapped(now, *from, answer); });
    case wire::MessageType::TicketReply:
      return Dispatch<wire::TicketReply>(now, *from, header, [&](const wire::TicketReply& reply) {
        logic_.OnTicketReply(now, *from, reply);
      });
    default:
      logic_.OnMalformed(now, *from, absl::StrCat("a message of type ", type));
  }
}

void ClientEngine::OnSent(net::SendToken token, const absl::Status&) {
  // A failed send needs no other answer: the peer's end or the deadline follows.
  if (token.value() != kHeaderOnly) {
    logic_.OnPushSent(MonotonicNow(), BlockId(static_cast<std::uint32_t>(token.value())));
  }
}

void ClientEngine::OnPeerDown(net::PeerId peer, const absl::Status& why) {
  if (const auto shard = links_.ShardOfPeer(peer)) {
    logic_.OnPeerDown(MonotonicNow(), *shard, why);
    transport_->Disconnect(peer);
  }
}

absl::Time ClientEngine::Enter() {
  const absl::Time now = MonotonicNow();
  logic_.ExtendDeadlines(now + options_.request_deadline);
  return now;
}

bool ClientEngine::Progress() {
  ReadMailbox(MonotonicNow());
  bool any = links_.StartReads();
  any |= transport_->Progress(*this);
  // What arrived may have asked for more.
  any |= links_.StartReads();
  return any;
}

void ClientEngine::TickOrWait(bool busy, absl::Time entered) {
  const absl::Time now = MonotonicNow();
  const absl::Time tick = logic_.next_tick();
  if (now >= tick) {
    if (!busy || now >= entered + kTicksMayWait) logic_.OnTick(now);
  } else if (!busy) {
    transport_->Wait(std::min(tick - now, kLongestWait));
  }
}

void ClientEngine::RunOnce() {
  Enter();
  if (Progress()) return;
  if (const absl::Time now = MonotonicNow(); now >= logic_.next_tick()) logic_.OnTick(now);
}

void ClientEngine::Quiesce() {
  links_.CloseAll(*transport_);
  const absl::Time give_up = MonotonicNow() + absl::Seconds(5);
  while ((logic_.sends_outstanding() > 0 || links_.reads_outstanding() > 0) &&
         MonotonicNow() < give_up) {
    // Reads that did not start yet are refused now.
    links_.StartReads();
    if (!transport_->Progress(*this)) transport_->Wait(absl::Milliseconds(10));
  }
}

std::vector<std::pair<ShardIndex, std::string>> ClientEngine::paths() const {
  auto paths = links_.Paths(*transport_);
  for (auto& [shard, path] : paths) {
    if (!exports_.TakesTurns(shard)) continue;
    absl::StrAppend(&path, ", but message push from a buffer that is not among the last ",
                    kBuffersKeptMapped, " new ones: push from at most ", kBuffersKeptMapped);
  }
  return paths;
}

void ClientEngine::OnView(ViewNumber view) {
  {
    MutexLock lock(&mailbox_mutex_);
    new_view_ = std::max(new_view_, view);
    if (aborted_.ok()) reads_until_view_.store(new_view_.value(), std::memory_order_release);
  }
  transport_->Wake();
}

void ClientEngine::Abort(const absl::Status& why) {
  {
    MutexLock lock(&mailbox_mutex_);
    if (aborted_.ok()) aborted_ = why;
    reads_until_view_.store(arena::kClosed, std::memory_order_release);
    mailbox_changed_.NotifyAll();
  }
  transport_->Wake();
}

void ClientEngine::Interrupt() {
  {
    MutexLock lock(&mailbox_mutex_);
    interrupted_ = true;
  }
  transport_->Wake();
}

bool ClientEngine::interrupted() {
  MutexLock lock(&mailbox_mutex_);
  return interrupted_;
}

void ClientEngine::ReadMailbox(absl::Time now) {
  ViewNumber view;
  absl::Status aborted;
  bool interrupted = false;
  {
    MutexLock lock(&mailbox_mutex_);
    view = new_view_;
    aborted = aborted_;
    interrupted = interrupted_;
  }
  if (view > seen_view_) {
    seen_view_ = view;
    logic_.OnView(now, view);
  }
  if (!aborted.ok()) logic_.Abort(now, aborted);
  if (interrupted) logic_.Interrupt();
}

absl::Status ClientEngine::PauseFor(absl::Duration pause) {
  MutexLock lock(&mailbox_mutex_);
  if (aborted_.ok()) mailbox_changed_.WaitFor(&mailbox_mutex_, pause);
  return aborted_;
}

}  // namespace weir
