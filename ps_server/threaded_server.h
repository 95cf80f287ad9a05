#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "common/model/layout.h"
#include "common/net/transport.h"
#include "ps_server/server.h"

namespace weir::ps {

using TransportMaker = std::function<absl::StatusOr<std::unique_ptr<net::Transport>>()>;

/// The ps `server` of `layout`: one Server a shard, each with a thread, a transport and memory of
/// its own, behind one interface. Connect goes to the shard that the request names; views and
/// commands go to all; each shard reports for itself, and so `report` may be called on several
/// threads at once. The step is that of the first shard.
///
/// Where this process may use the CPUs of several NUMA nodes, the shards are dealt out to them: a
/// shard's thread runs there, and its memory was first touched there.
///
/// `options` is the first shard's, whose number and thread are filled in here; `loader` is called
/// on this thread only. Errors: as Server::Create, and what `make_transport` returns.
absl::StatusOr<std::unique_ptr<Server>> CreateThreadedServer(const Layout& layout, int server,
                                                             ServerOptions options,
                                                             const TransportMaker& make_transport,
                                                             const BlockLoader& loader,
                                                             const Server::Report& report);

}  // namespace weir::ps
