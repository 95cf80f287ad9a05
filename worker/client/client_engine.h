#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/model/layout.h"
#include "common/net/transport.h"
#include "worker/client/data_client.h"
#include "worker/client/gradient_exports.h"
#include "worker/client/logic/client_logic.h"
#include "worker/client/parameter_buffer.h"
#include "worker/client/shard_connections.h"

namespace weir {

/// Connects ClientLogic to a transport: its actions become sends, arrivals become its events, and
/// whoever waits drives both. Decides nothing.
/// Threads: as DataClient.
class ClientEngine final : private ClientOutput, private net::TransportEvents {
 public:
  ClientEngine(const Layout& layout, const DataClientOptions& options,
               std::unique_ptr<net::Transport> transport);
  ~ClientEngine() override;

  absl::Status ConnectAll(const ShardConnector& connector);
  absl::StatusOr<ParameterBuffer> AllocateParameters();

  ClientLogic& logic() { return logic_; }
  const ClientLogic& logic() const { return logic_; }
  /// Where pushes are sent from. Shards that map memory of this client, or read it from afar, are
  /// told of it.
  void PushFrom(const ParameterBuffer& gradients);
  /// The push under way has failed: a shard may read its gradients yet, from afar. They are kept
  /// until no connection is left to read them over, whatever their owner does with the buffer.
  /// Only the first time: nothing is sent after that.
  void QuarantineGradients() {
    if (quarantined_ == nullptr) quarantined_ = gradients_->memory();
  }
  /// Where what is pulled goes; null: nobody wants it. Returns once nothing is read into the former
  /// buffer any more: at once, but for reads from afar that are under way.
  void PullInto(ParameterBuffer* weights);

  /// Drives everything until `done()`, which some end of every operation must make true: each has
  /// its deadline, counted from here.
  template <typename Done>
  void RunUntil(Done done);
  /// Does what is ready now, and waits for nothing.
  void RunOnce();
  /// After a failure sends may still read the gradients, and reads from afar still write to the
  /// weights: closes by force, and returns once they have ended. No operation succeeds afterwards.
  /// (Shards that have the gradients mapped may read on: DataClient says what follows from that.)
  void Quiesce();

  bool interrupted();
  std::vector<std::pair<ShardIndex, std::string>> paths() const;
  DataClient::MappedReads mapped_reads() const { return mapped_reads_; }
  std::uint64_t mapped_pushes() const { return mapped_pushes_; }
  std::uint64_t one_sided_pushes() const { return one_sided_pushes_; }
  DataClient::MappedReads one_sided_reads() const { return one_sided_reads_; }
  std::uint64_t strangers_messages() const { return links_.strangers_messages(); }

  // Any thread.
  void OnView(ViewNumber view);
  void Abort(const absl::Status& why);
  void Interrupt();

 private:
  // ClientOutput
  void SendPush(ShardIndex to, const wire::PushBlock& header) override;
  void SendPull(ShardIndex to, const wire::PullRequest& header) override;
  void SendTicket(ShardIndex to, const wire::TicketRequest& header) override;
  std::optional<Version> TryRead(const MappedRead& read) override;
  bool StartRead(const MappedRead& read) override;
  void DeliverBlock(BlockId block, Version version, ByteSpan payload) override;
  void CloseShard(ShardIndex shard, const absl::Status& why) override;
  void SendHeader(ShardIndex to, wire::MessageType type, ByteSpan header);
  /// Whether a push of `block` names its gradient, instead of carrying it.
  bool NamesGradient(ShardIndex to, const Block& block) const;
  void Announce(ShardIndex shard);
  void OnMemoryMapped(absl::Time now, ShardIndex shard, const wire::MemoryMapped& answer);

  // TransportEvents
  void OnMessage(std::uint8_t type, ByteSpan header, ByteSpan payload) override;
  /// Hands the header, which is not checked, to `handler`, with the shard that sent it.
  template <typename Struct, typename Handler>
  void Dispatch(absl::Time now, ShardIndex from, ByteSpan header, Handler handler);
  void OnSent(net::SendToken token, const absl::Status& status) override;
  void OnGot(net::GetToken token, const absl::Status& status) override;
  void OnPeerDown(net::PeerId peer, const absl::Status& why) override;

  /// Whether memory of a shard with `view` may be read now, without asking it: nobody has told of a
  /// newer one, and nothing was aborted.
  bool MayRead(ViewNumber view) const {
    return reads_until_view_.load(std::memory_order_acquire) <= view.value();
  }
  bool aborted() const {
    return reads_until_view_.load(std::memory_order_acquire) == arena::kClosed;
  }
  void OnRead(const OneSidedReader::Read& read, std::optional<Version> version);
  void Count(BlockId block, bool read, DataClient::MappedReads& reads) const;

  /// Starts a call of the owner's: how long it was elsewhere does not count against deadlines.
  absl::Time Enter();
  bool Progress();
  void TickOrWait(bool busy, absl::Time entered);
  void ReadMailbox(absl::Time now);
  absl::Status PauseFor(absl::Duration pause);

  const Layout& layout_;
  const DataClientOptions options_;
  std::unique_ptr<net::Transport> transport_;  // until the destructor
  ClientLogic logic_;
  ShardConnections links_;
  GradientExports exports_;
  // By block: what a push that names its gradient carries, until it was sent.
  std::vector<wire::GradientPlace> gradient_places_;
  std::uint64_t mapped_pushes_ = 0;
  std::uint64_t one_sided_pushes_ = 0;
  const ParameterBuffer* gradients_ = nullptr;
  std::shared_ptr<const net::Memory> quarantined_;  // outlives transport_
  ParameterBuffer* weights_ = nullptr;
  ViewNumber seen_view_;
  DataClient::MappedReads mapped_reads_;
  DataClient::MappedReads one_sided_reads_;

  Mutex mailbox_mutex_;
  CondVar mailbox_changed_;
  ViewNumber new_view_ ABSL_GUARDED_BY(mailbox_mutex_);
  // new_view_, or kClosed after Abort, for reads of mapped memory: they ask nobody else, so they
  // must not outrun the mailbox. Written under its lock.
  std::atomic<std::uint32_t> reads_until_view_{0};
  absl::Status aborted_ ABSL_GUARDED_BY(mailbox_mutex_);
  bool interrupted_ ABSL_GUARDED_BY(mailbox_mutex_) = false;
};

template <typename Done>
void ClientEngine::RunUntil(Done done) {
  const absl::Time entered = Enter();
  while (true) {
    const bool busy = Progress();
    if (done()) return;
    TickOrWait(busy, entered);
  }
}

}  // namespace weir
