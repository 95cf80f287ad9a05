#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "common/model/layout.h"
#include "common/net/transport.h"
#include "ps_server/logic/shard.h"
#include "schemas/chief_generated.h"
#include "schemas/shard_generated.h"

namespace weir::ps {

/// Fills elements [block.offset, + block.elements) of a tensor with the weights to start from: a
/// checkpoint's, or initial ones.
using BlockLoader = std::function<absl::Status(const Block& block, std::span<float> values)>;

struct ServerOptions {
  ShardOptions shard;
  Incarnation incarnation;
  int thread = 0;  ///< of its ps: stands in what is reported
  std::string host_id;
  std::string transport_kind = "ucx";
  std::string ucx_version;         ///< empty with another transport
  std::uint64_t notify_steps = 1;  ///< StepReached is reported at its multiples, and at the end
};

/// One parameter server: a shard, its memory, its transport and the thread that owns them.
///
/// Control calls come from any thread and are posted to the owner thread's bounded queue; what the
/// shard has to tell the chief goes to `report`, which is called on the owner thread or the
/// checkpoint writer's and must not block.
class Server {
 public:
  using Report = std::function<void(wire::MemberBodyUnion)>;

  /// Allocates and fills the shard's memory and starts its thread. `layout` is borrowed.
  static absl::StatusOr<std::unique_ptr<Server>> Create(const Layout& layout,
                                                        const ServerOptions& options,
                                                        std::unique_ptr<net::Transport> transport,
                                                        const BlockLoader& loader, Report report);
  virtual ~Server() = default;

  /// Lets a worker of the current view in. Waits for the owner thread, at most 5 s.
  virtual wire::ConnectReplyT Connect(const wire::ConnectRequestT& request) = 0;
  virtual void OnView(const wire::ViewT& view) = 0;
  /// Writes a consistent cut into `folder`; a CheckpointDone is reported, whatever happens.
  virtual void TakeCheckpoint(std::uint32_t id, const std::string& folder) = 0;
  virtual void StopTraining() = 0;
  /// Reports Stats.
  virtual void SendStats() = 0;
  virtual Step global_step() const = 0;
  /// Messages that were dropped because they carried no session that this ps gave out.
  virtual std::uint64_t strangers_messages() const = 0;
  /// Stops the threads: no report after it. A checkpoint under way is abandoned.
  virtual void Stop() = 0;
};

}  // namespace weir::ps
