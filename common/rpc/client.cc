#include "common/rpc/client.h"

#include <grpcpp/create_channel.h>

#include <algorithm>
#include <utility>

#include "common/base/mutex.h"
#include "common/rpc/grpc_setup.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/tls_credentials.h"
#include "common/rpc/tls_probe.h"
#include "common/rpc/token.h"
#include "common/rpc/wire_message.h"
#include "schemas/chief.grpc.fb.h"
#include "schemas/shard.grpc.fb.h"
#include "weir/exit_code.h"

namespace weir::rpc {
namespace {

using flatbuffers::grpc::Message;

std::shared_ptr<grpc::Channel> Dial(const std::string& address, const TlsMaterial* material) {
  SetUpGrpc();
  grpc::ChannelArguments arguments;
  // A peer that starts late, or again, is found within a second. The "minimum backoff" is really
  // the time that a connection attempt gets: with 100 ms, a busy peer was called unreachable.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  for (const auto& [key, value] : FrozenPeerArguments()) arguments.SetInt(key, value);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // Roles of one process must not share a connection: one that stops reading would stall the rest.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  // With the scheme, else a host called "unix" or "dns" would be taken for one.
  return grpc::CreateCustomChannel("dns:///" + address, ChannelCredentialsOf(material), arguments);
}

/// A channel and its stub, made with one certificate.
template <typename Service>
struct Line {
  Line(const std::string& address, std::shared_ptr<const TlsMaterial> with)
      : material(std::move(with)), channel(Dial(address, material.get())), stub(channel) {}
  const std::shared_ptr<const TlsMaterial> material;  // null: plaintext
  const std::shared_ptr<grpc::Channel> channel;
  typename Service::Stub stub;
};

/// Gives the line to call on: a new one once the certificate was renewed, for a channel keeps what
/// it was made with. Calls under way, and streams, stay on theirs.
template <typename Service>
class Dialer {
 public:
  explicit Dialer(const ChannelOptions& options)
      : address_(options.address), identity_(options.tls), line_(NewLine()) {}

  std::shared_ptr<Line<Service>> line() {
    if (identity_ == nullptr) return line_;
    const auto material = identity_->Current();
    MutexLock lock(&mutex_);
    if (line_->material != material) line_ = std::make_shared<Line<Service>>(address_, material);
    return line_;
  }

 private:
  std::shared_ptr<Line<Service>> NewLine() const {
    return std::make_shared<Line<Service>>(address_, identity_ ? identity_->Current() : nullptr);
  }

  const std::string address_;
  const std::shared_ptr<TlsIdentity> identity_;
  Mutex mutex_;
  std::shared_ptr<Line<Service>> line_;  // under the mutex where there is an identity
};

/// gRPC makes progress on a connection only while a call waits, and a call to a peer that cannot be
/// reached does not: an attempt that began between two calls would time out unseen. So the next
/// call first sees to it for a moment.
void HelpConnect(grpc::Channel& channel, absl::Duration timeout) {
  const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
  if (state != GRPC_CHANNEL_TRANSIENT_FAILURE) return;
  constexpr absl::Duration kLongest = absl::Milliseconds(500);
  channel.WaitForStateChange(state, DeadlineAfter(std::min(kLongest, timeout / 2)));
}

/// Who is called, and with what.
struct Peer {
  explicit Peer(const ChannelOptions& options)
      : name(options.peer), address(options.address), token(TokenOnTheWire(options.token)) {}

  void Authenticate(grpc::ClientContext* context) const {
    if (!token.empty()) context->AddMetadata(kTokenKey, token);
  }
  absl::Status Error(const grpc::Status& status) const { return FromGrpc(status, name, address); }
  /// The same where TLS may have been the reason: it is then looked for.
  absl::Status Error(const grpc::Status& status, const TlsMaterial* material,
                     absl::Duration timeout) const {
    constexpr absl::Duration kLongest = absl::Seconds(1);
    if (!MayBeTls(status)) return Error(status);
    const TlsFault fault = FindTlsFault(address, material, std::min(kLongest, timeout));
    if (fault.reason.empty()) return Error(status);
    const std::string text = absl::StrCat(name, " at ", address, ": ", fault.reason);
    if (!fault.permanent) return absl::UnavailableError(text);
    return WithExitCode(absl::UnauthenticatedError(text), ExitCode::kBadUsage);
  }
  /// A reply that is no message: its sender is broken or no weir, so asking again will not help.
  absl::Status Error(const absl::Status& decoding) const {
    return absl::Status(decoding.code(),
                        absl::StrCat(name, " at ", address, ": sent a ", decoding.message()));
  }

  const std::string name;
  const std::string address;
  const std::string token;
};

template <typename Reply, typename Request, typename Stub>
using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Message<Request>&,
                                      Message<Reply>*);

template <typename Reply, typename Request, typename Service>
absl::StatusOr<typename Reply::NativeTableType> Call(
    const Peer& peer, Dialer<Service>& dialer,
    Method<Reply, Request, typename Service::Stub> method,
    const typename Request::NativeTableType& request, absl::string_view reply_name,
    absl::Duration timeout) {
  const auto line = dialer.line();
  grpc::ClientContext context;
  context.set_deadline(DeadlineAfter(timeout));
  HelpConnect(*line->channel, timeout);
  peer.Authenticate(&context);
  Message<Reply> message;
  const grpc::Status status = (line->stub.*method)(&context, Encode<Request>(request), &message);
  if (!status.ok()) return peer.Error(status, line->material.get(), timeout);
  typename Reply::NativeTableType reply;
  if (absl::Status decoded = Decode(message, reply_name, &reply); !decoded.ok())
    return peer.Error(decoded);
  return reply;
}

class ChiefStreamImpl final : public ChiefStream {
 public:
  ChiefStreamImpl(std::shared_ptr<const Peer> peer, wire::ChiefService::Stub& stub)
      : peer_(std::move(peer)) {
    peer_->Authenticate(&context_);
    stream_ = stub.Session(&context_);
  }

  bool Read(wire::ChiefMessageT* message) override {
    Message<wire::ChiefMessage> raw;
    if (!malformed_.ok() || !stream_->Read(&raw)) return false;
    if (absl::Status decoded = Decode(raw, "ChiefMessage", message); !decoded.ok()) {
      malformed_ = peer_->Error(decoded);
      Cancel();
      return false;
    }
    return true;
  }

  bool Write(const wire::MemberMessageT& message) override {
    return stream_->Write(Encode<wire::MemberMessage>(message));
  }

  void WritesDone() override { stream_->WritesDone(); }

  absl::Status Finish() override {
    const grpc::Status status = stream_->Finish();
    return malformed_.ok() ? peer_->Error(status) : malformed_;
  }

  void Cancel() override { context_.TryCancel(); }

 private:
  const std::shared_ptr<const Peer> peer_;
  grpc::ClientContext context_;  // keeps the channel alive; outlives stream_
  std::unique_ptr<
      grpc::ClientReaderWriter<Message<wire::MemberMessage>, Message<wire::ChiefMessage>>>
      stream_;
  absl::Status malformed_;  // the reading thread's
};

class ChiefClientImpl final : public ChiefClient {
 public:
  explicit ChiefClientImpl(const ChannelOptions& options)
      : peer_(std::make_shared<const Peer>(options)), dialer_(options) {}

  absl::StatusOr<wire::JoinReplyT> Join(const wire::JoinRequestT& request,
                                        absl::Duration timeout) override {
    return Call<wire::JoinReply, wire::JoinRequest>(
        *peer_, dialer_, &wire::ChiefService::Stub::Join, request, "JoinReply", timeout);
  }

  std::unique_ptr<ChiefStream> OpenSession() override {
    return std::make_unique<ChiefStreamImpl>(peer_, dialer_.line()->stub);
  }

  absl::StatusOr<wire::StatusReplyT> GetStatus(absl::Duration timeout) override {
    return Call<wire::StatusReply, wire::StatusRequest>(
        *peer_, dialer_, &wire::ChiefService::Stub::Status, {}, "StatusReply", timeout);
  }

 private:
  const std::shared_ptr<const Peer> peer_;
  Dialer<wire::ChiefService> dialer_;
};

class ShardClientImpl final : public ShardClient {
 public:
  explicit ShardClientImpl(const ChannelOptions& options) : peer_(options), dialer_(options) {}

  absl::StatusOr<wire::ConnectReplyT> Connect(const wire::ConnectRequestT& request,
                                              absl::Duration timeout) override {
    return Call<wire::ConnectReply, wire::ConnectRequest>(
        peer_, dialer_, &wire::ShardService::Stub::Connect, request, "ConnectReply", timeout);
  }

 private:
  const Peer peer_;
  Dialer<wire::ShardService> dialer_;
};

}  // namespace

std::unique_ptr<ChiefClient> ChiefClient::Create(const ChannelOptions& options) {
  return std::make_unique<ChiefClientImpl>(options);
}

std::unique_ptr<ShardClient> ShardClient::Create(const ChannelOptions& options) {
  return std::make_unique<ShardClientImpl>(options);
}

}  // namespace weir::rpc
