#include "common/rpc/server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <set>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_replace.h"
#include "common/base/log.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/rpc/grpc_setup.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/listen_address.h"
#include "common/rpc/tls_credentials.h"
#include "common/rpc/token.h"
#include "common/rpc/wire_message.h"
#include "schemas/chief.grpc.fb.h"
#include "schemas/shard.grpc.fb.h"
#include "weir/exit_code.h"

namespace weir::rpc {
namespace {

using flatbuffers::grpc::Message;

// A Session holds a thread for as long as it lives; beyond this, calls fail with
// kResourceExhausted.
constexpr int kMaxThreads = 2048;
// What connects and says nothing, or garbage without an end, is dropped after this.
constexpr int kHandshakeTimeoutMs = 10'000;

/// Without gRPC's "ipv4:" and its URL encoding: "127.0.0.1:43210", "[::1]:43210".
std::string PeerName(const grpc::ServerContext& context) {
  const std::string peer = context.peer();
  return absl::StrReplaceAll(peer.substr(peer.find(':') + 1), {{"%5B", "["}, {"%5D", "]"}});
}

/// The check that stands in front of every call of ours.
class TokenCheck {
 public:
  explicit TokenCheck(const std::string& token) : expected_(TokenOnTheWire(token)) {}

  absl::Status operator()(const grpc::ServerContext& context) const {
    const auto& metadata = context.client_metadata();
    const auto entry = metadata.find(kTokenKey);
    if (entry == metadata.end()) return CheckToken(expected_, nullptr);
    const absl::string_view given(entry->second.data(), entry->second.size());
    return CheckToken(expected_, &given);
  }

 private:
  const std::string expected_;
};

/// One unary call: token, message, handler, reply.
template <typename Request, typename Reply, typename Handler>
grpc::Status Answer(const TokenCheck& check, const grpc::ServerContext& context,
                    absl::string_view request_name, const Message<Request>& message,
                    Message<Reply>* reply, Handler handler) {
  if (absl::Status allowed = check(context); !allowed.ok()) return ToGrpc(allowed);
  typename Request::NativeTableType request;
  if (absl::Status decoded = Decode(message, request_name, &request); !decoded.ok()) {
    LogWarning(PeerName(context), " sent a ", decoded.message());
    return ToGrpc(decoded);
  }
  absl::StatusOr<typename Reply::NativeTableType> answer = handler(request);
  if (!answer.ok()) return ToGrpc(answer.status());
  *reply = Encode<Reply>(*answer);
  return grpc::Status::OK;
}

using SessionStream =
    grpc::ServerReaderWriter<Message<wire::ChiefMessage>, Message<wire::MemberMessage>>;

class MemberStreamImpl final : public MemberStream {
 public:
  MemberStreamImpl(grpc::ServerContext* context, SessionStream* stream)
      : context_(context), stream_(stream), peer_(PeerName(*context)) {}

  bool Read(wire::MemberMessageT* message) override {
    Message<wire::MemberMessage> raw;
    if (malformed_.load(std::memory_order_relaxed) || !stream_->Read(&raw)) return false;
    const absl::Status decoded = Decode(raw, "MemberMessage", message);
    if (decoded.ok()) return true;
    LogWarning(peer_, " sent a ", decoded.message(), "; its session ends");
    malformed_.store(true, std::memory_order_relaxed);
    return false;
  }

  bool Write(const wire::ChiefMessageT& message) override {
    return !malformed_.load(std::memory_order_relaxed) &&
           stream_->Write(Encode<wire::ChiefMessage>(message));
  }

  void Cancel() override { context_->TryCancel(); }
  std::string peer() const override { return peer_; }
  bool malformed() const { return malformed_.load(std::memory_order_relaxed); }

 private:
  grpc::ServerContext* const context_;
  SessionStream* const stream_;
  const std::string peer_;
  std::atomic<bool> malformed_{false};  // publishes nothing else
};

/// The streams that Shutdown has to end: a handler blocked in Read would not notice it otherwise.
class OpenStreams {
 public:
  /// False once `CancelAll` was called.
  bool Add(MemberStream* stream) {
    MutexLock lock(&mutex_);
    if (!closed_) streams_.insert(stream);
    return !closed_;
  }
  void Remove(MemberStream* stream) {
    MutexLock lock(&mutex_);
    streams_.erase(stream);
  }
  void CancelAll() {
    MutexLock lock(&mutex_);
    closed_ = true;
    for (MemberStream* stream : streams_) stream->Cancel();
  }

 private:
  Mutex mutex_;
  std::set<MemberStream*> streams_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

class ChiefCalls final : public wire::ChiefService::Service {
 public:
  ChiefCalls(ChiefHandler* handler, const TokenCheck* check) : handler_(handler), check_(check) {}

  grpc::Status Join(grpc::ServerContext* context, const Message<wire::JoinRequest>* request,
                    Message<wire::JoinReply>* reply) override {
    return Answer(*check_, *context, "JoinRequest", *request, reply,
                  [this](const wire::JoinRequestT& join) { return handler_->Join(join); });
  }

  grpc::Status Session(grpc::ServerContext* context, SessionStream* stream) override {
    if (absl::Status allowed = (*check_)(*context); !allowed.ok()) return ToGrpc(allowed);
    MemberStreamImpl member(context, stream);
    if (!streams_.Add(&member))
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the peer is shutting down");
    const absl::Cleanup remove = [&] { streams_.Remove(&member); };  // gRPC catches exceptions
    const absl::Status status = handler_->Session(member);
    if (member.malformed())
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "malformed MemberMessage");
    return ToGrpc(status);
  }

  grpc::Status Status(grpc::ServerContext* context, const Message<wire::StatusRequest>* request,
                      Message<wire::StatusReply>* reply) override {
    return Answer(*check_, *context, "StatusRequest", *request, reply,
                  [this](const wire::StatusRequestT&) { return handler_->GetStatus(); });
  }

  void EndStreams() { streams_.CancelAll(); }

 private:
  ChiefHandler* const handler_;
  const TokenCheck* const check_;
  OpenStreams streams_;
};

class ShardCalls final : public wire::ShardService::Service {
 public:
  ShardCalls(ShardHandler* handler, const TokenCheck* check) : handler_(handler), check_(check) {}

  grpc::Status Connect(grpc::ServerContext* context, const Message<wire::ConnectRequest>* request,
                       Message<wire::ConnectReply>* reply) override {
    if (handler_ == nullptr)
      return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "this process hosts no ps");
    return Answer(*check_, *context, "ConnectRequest", *request, reply,
                  [this](const wire::ConnectRequestT& ask) { return handler_->Connect(ask); });
  }

 private:
  ShardHandler* const handler_;  // null where no ps is hosted
  const TokenCheck* const check_;
};

class ServerImpl final : public Server {
 public:
  ServerImpl(const ServerOptions& options, ChiefHandler* chief, ShardHandler* shard)
      : who_(options.who),
        address_(options.address),
        check_(options.token),
        chief_calls_(chief, &check_),
        shard_calls_(shard, &check_),
        serves_chief_(chief != nullptr),
        tls_(options.tls) {}

  ~ServerImpl() override { Shutdown(absl::ZeroDuration()); }

  /// False where gRPC cannot listen.
  bool Listen(const std::vector<std::string>& addresses) {
    grpc::ServerBuilder builder;
    // Else a role that is started twice would share the port in silence.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
    for (const auto& [key, value] : FrozenPeerArguments()) builder.AddChannelArgument(key, value);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.SetMaxSendMessageSize(kMaxMessageBytes);
    builder.SetResourceQuota(grpc::ResourceQuota("weir").SetMaxThreads(kMaxThreads));
    // Threads that wait for the next call; a call or stream that runs is not counted among them.
    builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
    std::vector<int> ports(addresses.size(), 0);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      credentials_.push_back(ServerCredentialsOf(tls_));
      builder.AddListeningPort(addresses[i], credentials_.back(), &ports[i]);
    }
    if (serves_chief_) builder.RegisterService(&chief_calls_);
    // gRPC starts no server without a service, not even for health: a worker's refuses every call.
    builder.RegisterService(&shard_calls_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return false;
    SetServing(false);
    for (const int port : ports)
      if (port == 0) return false;
    port_ = ports.front();
    return true;
  }

  int port() const override { return port_; }

  void SetServing(bool serving) override {
    if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus("", serving);
  }

  void Shutdown(absl::Duration grace) override {
    MutexLock lock(&shutdown_mutex_);
    if (server_ == nullptr || down_) return;
    down_ = true;
    SetServing(false);
    chief_calls_.EndStreams();
    server_->Shutdown(DeadlineAfter(grace));
    server_->Wait();
  }

 private:
  const std::string who_;
  const std::string address_;
  const TokenCheck check_;
  ChiefCalls chief_calls_;
  ShardCalls shard_calls_;
  const bool serves_chief_;
  const std::shared_ptr<TlsIdentity> tls_;
  std::vector<std::shared_ptr<grpc::ServerCredentials>> credentials_;  // outlive server_
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  Mutex shutdown_mutex_;
  bool down_ ABSL_GUARDED_BY(shutdown_mutex_) = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(const ServerOptions& options,
                                                       ChiefHandler* chief, ShardHandler* shard) {
  SetUpGrpc();
  WEIR_ASSIGN_OR_RETURN(const auto addresses,
                        ListenAddresses(options.who, options.address, options.loopback_only));
  auto server = std::make_unique<ServerImpl>(options, chief, shard);
  if (server->Listen(addresses)) return server;
  // Somebody took the port since it was tried: say who is in the way.
  WEIR_RETURN_IF_ERROR(
      ListenAddresses(options.who, options.address, options.loopback_only).status());
  return WithExitCode(
      absl::InvalidArgumentError(absl::StrCat(options.who, " cannot listen on ", options.address)),
      ExitCode::kBadUsage);
}

}  // namespace weir::rpc
