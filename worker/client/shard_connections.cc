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
    return absl::UnavailableError(absl::StrCat(
        name,
        " has none to share (its log says why; look at kernel.shmmax and kernel.shmall there)"));
  }
  return transport.Map(peer, std::string(reply.arena_key.begin(), reply.arena_key.end()),
                       reply.arena_bytes);
}

// What one page can hold tells as much as a model would, but for the limits on large segments.
constexpr std::size_t kSampleBytes = 64;

absl::Status ShmNeeds(const absl::Status& why) {
  return WithExitCode(absl::FailedPreconditionError(absl::StrCat(
                          why.message(), " (--transport shm needs memory that is mapped)")),
                      ExitCode::kBadUsage);
}

absl::StatusOr<std::unique_ptr<OneSidedReader>> OpenReader(
    net::Transport& transport, net::PeerId peer, ShardIndex shard, const std::string& name,
    std::size_t blocks, const wire::ConnectReplyT& reply, const OneSidedReader::Done& on_read) {
  absl::StatusOr<std::unique_ptr<OneSidedReader>> reader =
      absl::UnavailableError(absl::StrCat(name, " gave no key to its memory"));
  if (!reply.arena_key.empty()) {
    auto memory = transport.Open(peer, std::string(reply.arena_key.begin(), reply.arena_key.end()),
                                 reply.arena_bytes);
    reader = memory.ok() ? OneSidedReader::Create(transport, *std::move(memory), shard, blocks,
                                                  Incarnation(reply.incarnation), on_read)
                         : memory.status();
  }
  if (reader.ok()) return reader;
  return WithExitCode(
      absl::FailedPreconditionError(absl::StrCat("the memory of ", name,
                                                 " cannot be read from afar, and --transport rdma "
                                                 "needs that: ",
                                                 reader.status().message())),
      ExitCode::kBadUsage);
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

absl::StatusOr<ShardConnections> ShardConnections::Open(
    const Layout& layout, const DataClientOptions& options, net::Transport& transport,
    const ShardConnector& connector, const Pause& pause, const OneSidedReader::Done& on_read) {
  wire::ConnectRequestT request = RequestFor(layout, options, transport);
  // Until every shard has tried to map it.
  std::unique_ptr<net::Memory> sample;
  if (options.mapping != Mapping::kNever) {
    WEIR_ASSIGN_OR_RETURN(sample, transport.Allocate(kSampleBytes));
    request.sample_key.assign(sample->remote_key().begin(), sample->remote_key().end());
    request.sample_bytes = kSampleBytes;
  }
  const absl::Time deadline = MonotonicNow() + options.connect_deadline;
  ShardConnections connections;
  for (int s = 0; s < layout.shards(); ++s) {
    const ShardIndex shard(static_cast<std::uint16_t>(s));
    const std::string name = NameOf(options, shard);
    WEIR_ASSIGN_OR_RETURN(wire::ConnectReplyT reply,
                          AskUntilAnswered(shard, name, request, deadline, connector, pause));
    WEIR_RETURN_IF_ERROR(CheckReply(shard, name, reply));
    if (sample != nullptr && request.sample_key.empty()) {
      reply.not_mapped = "it is private (this worker's log says why; look at kernel.shmmax here)";
    }
    WEIR_ASSIGN_OR_RETURN(Connection connection,
                          Join(layout, options, transport, shard, reply, on_read));
    connections.shards_.push_back(std::move(connection));
    connections.by_session_[reply.session] = shard;
  }
  return connections;
}

absl::StatusOr<ShardConnections::Connection> ShardConnections::Join(
    const Layout& layout, const DataClientOptions& options, net::Transport& transport,
    ShardIndex shard, const wire::ConnectReplyT& reply, const OneSidedReader::Done& on_read) {
  const std::string name = NameOf(options, shard);
  Connection connection;
  connection.link = {.session = reply.session,
                     .push_credits = static_cast<int>(reply.push_credits),
                     .pull_credits = static_cast<int>(reply.pull_credits)};
  WEIR_ASSIGN_OR_RETURN(
      connection.peer,
      transport.Connect(std::string(reply.data_address.begin(), reply.data_address.end()), name));
  const std::size_t blocks = layout.blocks_of(shard).size();
  if (blocks == 0) {
    connection.not_mapped = "it holds no block";
    return connection;
  }
  if (options.one_sided_reads == OneSidedReads::kRequired) {
    WEIR_ASSIGN_OR_RETURN(connection.reader, OpenReader(transport, connection.peer, shard, name,
                                                        blocks, reply, on_read));
    connection.push_access = wire::MemoryAccess::Read;
    return connection;
  }
  if (options.mapping == Mapping::kNever) {
    connection.not_mapped = "--transport tcp";
    return connection;
  }
  const absl::Status status = MapBothWays(layout, name, transport, shard, reply, connection);
  if (!status.ok() && options.mapping == Mapping::kRequired) return ShmNeeds(status);
  connection.not_mapped = std::string(status.message());
  return connection;
}

absl::Status ShardConnections::MapBothWays(const Layout& layout, const std::string& name,
                                           net::Transport& transport, ShardIndex shard,
                                           const wire::ConnectReplyT& reply,
                                           Connection& connection) {
  const auto failed = [&](absl::string_view whose, absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat("the memory of ", whose, " cannot be mapped: ", why));
  };
  absl::StatusOr<std::unique_ptr<net::MappedMemory>> memory =
      MapArena(transport, connection.peer, name, reply);
  if (!memory.ok()) return failed(name, memory.status().message());
  const auto arena = arena::Reader::Create((*memory)->bytes(), layout.blocks_of(shard).size(),
                                           Incarnation(reply.incarnation));
  if (!arena.ok()) return failed(name, arena.status().message());
  while ((*memory)->Prefault((*memory)->bytes().size())) {
  }
  connection.memory = *std::move(memory);
  connection.arena = *arena;
  if (!reply.not_mapped.empty()) {
    return failed(absl::StrCat("this worker, at ", name, ","), reply.not_mapped);
  }
  connection.push_access = wire::MemoryAccess::Map;
  return absl::OkStatus();
}

absl::Status ShardConnections::PushByMessage(ShardIndex shard) {
  Connection& connection = shards_[shard.value()];
  const bool maps = connection.push_access == wire::MemoryAccess::Map;
  connection.push_access.reset();
  connection.not_mapped =
      maps ? "gradients are more memory than it could map (its log says why; look at kernel.shmmax "
             "and kernel.shmall here, ipcs -l)"
           : "it could not open this worker's gradients for reading (its log says why; look at its "
             "locked memory, ulimit -l)";
  const absl::Status why = absl::FailedPreconditionError(
      absl::StrCat("shard ", shard.value(), ": ", connection.not_mapped));
  return maps ? ShmNeeds(why) : why;
}

bool ShardConnections::StartReads() const {
  bool any = false;
  for (const Connection& connection : shards_) {
    if (connection.reader != nullptr) any |= connection.reader->Start();
  }
  return any;
}

std::size_t ShardConnections::reads_outstanding() const {
  std::size_t sum = 0;
  for (const Connection& connection : shards_) {
    if (connection.reader != nullptr) sum += connection.reader->outstanding();
  }
  return sum;
}

void ShardConnections::LetGoOfMemory() {
  for (Connection& connection : shards_) {
    if (connection.reader != nullptr) connection.reader->LetGo();
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
    absl::string_view lanes = path;
    absl::ConsumePrefix(&lanes, "message (");
    absl::ConsumeSuffix(&lanes, ")");
    const bool pushes_from_memory = connection.push_access.has_value();
    const char* const kind = connection.reader != nullptr   ? "rdma"
                             : connection.arena.has_value() ? "mapped"
                                                            : nullptr;
    if (kind != nullptr) {
      path = pushes_from_memory ? absl::StrCat(kind, " (messages over ", lanes, ")")
                                : absl::StrCat(kind, " pull, message push (", lanes, ")");
    }
    if (!connection.not_mapped.empty()) {
      absl::StrAppend(&path, ", not mapped: ", connection.not_mapped);
    }
    paths.emplace_back(ShardIndex(static_cast<std::uint16_t>(s)), std::move(path));
  }
  return paths;
}

}  // namespace weir
