#include "worker/client/shard_connections.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/model/protocol.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

wire::ConnectRequestT RequestFor(const Layout& layout, const DataClientOptions& options,
                                 const net::Transport& transport) {
  wire::ConnectRequestT request;
  request.protocol = kProtocolVersion;
  request.ucx_version = options.ucx_version;
  request.worker = options.worker.value();
  request.incarnation = options.incarnation.value();
  request.host_id = options.host_id;
  request.view = options.view.value();
  request.layout_fingerprint = layout.fingerprint();
  request.transport = options.transport_kind;
  const std::string address = transport.address();
  request.data_address.assign(address.begin(), address.end());
  return request;
}

std::string NameOf(const DataClientOptions& options, ShardIndex shard) {
  if (shard.value() < options.shard_names.size()) return options.shard_names[shard.value()];
  return absl::StrCat("ps ", shard.value());
}

// A shard's word is checked before it is used: credits size windows.
absl::Status CheckReply(ShardIndex shard, const std::string& name,
                        const wire::ConnectReplyT& reply) {
  constexpr std::uint32_t kMostCredits = 65536;
  if (reply.shard == shard.value() && reply.session != 0 && reply.push_credits >= 1 &&
      reply.push_credits <= kMostCredits && reply.pull_credits >= 1 &&
      reply.pull_credits <= kMostCredits && !reply.data_address.empty()) {
    return absl::OkStatus();
  }
  return WithExitCode(absl::FailedPreconditionError(absl::StrCat(
                          name, " gave a connect reply that makes no sense (shard ", reply.shard,
                          ", credits ", reply.push_credits, "/", reply.pull_credits,
                          "): check that every role runs the same build of weir")),
                      ExitCode::kBadUsage);
}

// Permanent errors of the control plane are not asked again.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

absl::StatusOr<std::unique_ptr<net::MappedMemory>> MapArena(net::Transport& transport,
                                                            net::PeerId peer,
                                                            const std::string& name,
                                                            const wire::ConnectReplyT& reply) {
  if (reply.arena_key.empty()) {
    return absl::UnavailableError(absl::StrCat(name, " shares no memory over its transport"));
  }
  return transport.Map(peer, std::string(reply.arena_key.begin(), reply.arena_key.end()),
                       reply.arena_bytes);
}

using Pause = ShardConnections::Pause;

absl::StatusOr<wire::ConnectReplyT> AskUntilAnswered(ShardIndex shard, const std::string& name,
                                                     const wire::ConnectRequestT& request,
                                                     absl::Time deadline,
                                                     const ShardConnector& connector,
                                                     const Pause& pause) {
  std::string reason;
  while (true) {
    absl::StatusOr<wire::ConnectReplyT> reply = connector(shard, request);
    if (reply.ok() && reply->accepted) return reply;
    if (!reply.ok() && !MayPass(reply.status())) {
      return WithExitCode(reply.status(), ExitCode::kBadUsage);
    }
    if (reply.ok() && !reply->retry) {
      return WithExitCode(absl::FailedPreconditionError(
                              absl::StrCat(name, " refused the connection: ", reply->reason)),
                          ExitCode::kBadUsage);
    }
    reason = reply.ok() ? reply->reason : std::string(reply.status().message());
    if (MonotonicNow() >= deadline) {
      return WithExitCode(absl::DeadlineExceededError(
                              absl::StrCat(name, " could not be connected to in time: ", reason)),
                          ExitCode::kPeerLost);
    }
    WEIR_RETURN_IF_ERROR(pause(absl::Milliseconds(20)));
  }
}

}  // namespace

absl::StatusOr<ShardConnections> ShardConnections::Open(const Layout& layout,
                                                        const DataClientOptions& options,
                                                        net::Transport& transport,
                                                        const ShardConnector& connector,
                                                        const Pause& pause) {
  const wire::ConnectRequestT request = RequestFor(layout, options, transport);
  const absl::Time deadline = MonotonicNow() + options.connect_deadline;
  ShardConnections connections;
  for (int s = 0; s < layout.shards(); ++s) {
    const ShardIndex shard(static_cast<std::uint16_t>(s));
    const std::string name = NameOf(options, shard);
    WEIR_ASSIGN_OR_RETURN(const wire::ConnectReplyT reply,
                          AskUntilAnswered(shard, name, request, deadline, connector, pause));
    WEIR_RETURN_IF_ERROR(CheckReply(shard, name, reply));
    WEIR_ASSIGN_OR_RETURN(Connection connection, Join(layout, options, transport, shard, reply));
    connections.shards_.push_back(std::move(connection));
    connections.by_session_[reply.session] = shard;
  }
  return connections;
}

absl::StatusOr<ShardConnections::Connection> ShardConnections::Join(
    const Layout& layout, const DataClientOptions& options, net::Transport& transport,
    ShardIndex shard, const wire::ConnectReplyT& reply) {
  const std::string name = NameOf(options, shard);
  Connection connection;
  connection.link = {.session = reply.session,
                     .push_credits = static_cast<int>(reply.push_credits),
                     .pull_credits = static_cast<int>(reply.pull_credits)};
  WEIR_ASSIGN_OR_RETURN(
      connection.peer,
      transport.Connect(std::string(reply.data_address.begin(), reply.data_address.end()), name));
  const std::size_t blocks = layout.blocks_of(shard).size();
  if (blocks == 0) connection.not_mapped = "it holds no block";
  if (options.mapping == Mapping::kNever) connection.not_mapped = "--transport tcp";
  if (!connection.not_mapped.empty()) return connection;
  absl::StatusOr<std::unique_ptr<net::MappedMemory>> memory =
      MapArena(transport, connection.peer, name, reply);
  absl::Status status = memory.status();
  if (memory.ok()) {
    const auto arena =
        arena::Reader::Create((*memory)->bytes(), blocks, Incarnation(reply.incarnation));
    status = arena.status();
    if (arena.ok()) connection.arena = *arena;
  }
  if (status.ok()) {
    connection.memory = *std::move(memory);
  } else if (options.mapping == Mapping::kRequired) {
    return WithExitCode(absl::FailedPreconditionError(absl::StrCat(
                            "the memory of ", name, " cannot be mapped, and --transport shm ",
                            "needs that: ", status.message())),
                        ExitCode::kBadUsage);
  } else {
    connection.not_mapped = std::string(status.message());
  }
  return connection;
}

void ShardConnections::Unmap() {
  for (Connection& connection : shards_) {
    connection.arena.reset();
    connection.memory.reset();
  }
}

std::optional<ShardIndex> ShardConnections::ShardOf(std::uint64_t session) {
  const auto found = by_session_.find(session);
  if (found != by_session_.end()) return found->second;
  ++strangers_messages_;
  if (const std::uint64_t times = strangers_.Add(MonotonicNow()); times > 0) {
    LogWarning("dropped ", times, " message(s) without a session of this worker: somebody who is ",
               "no ps of the job knows its UCX address");
  }
  return std::nullopt;
}

std::optional<ShardIndex> ShardConnections::ShardOfPeer(net::PeerId peer) const {
  const auto found = std::ranges::find(shards_, peer, &Connection::peer);
  if (found == shards_.end()) return std::nullopt;
  return ShardIndex(static_cast<std::uint16_t>(found - shards_.begin()));
}

void ShardConnections::CloseAll(net::Transport& transport) const {
  for (const Connection& connection : shards_) transport.Disconnect(connection.peer);
}

std::vector<std::pair<ShardIndex, std::string>> ShardConnections::Paths(
    const net::Transport& transport) const {
  std::vector<std::pair<ShardIndex, std::string>> paths;
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    const Connection& connection = shards_[s];
    std::string path = transport.PathTo(connection.peer);
    if (connection.arena.has_value()) {
      absl::string_view lanes = path;
      absl::ConsumePrefix(&lanes, "message (");
      absl::ConsumeSuffix(&lanes, ")");
      path = absl::StrCat("mapped (messages over ", lanes, ")");
    } else if (!connection.not_mapped.empty()) {
      absl::StrAppend(&path, ", not mapped: ", connection.not_mapped);
    }
    paths.emplace_back(ShardIndex(static_cast<std::uint16_t>(s)), std::move(path));
  }
  return paths;
}

}  // namespace weir
