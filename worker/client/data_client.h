#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "common/model/layout.h"
#include "common/net/transport.h"
#include "schemas/shard_generated.h"
#include "worker/client/parameter_buffer.h"

namespace weir {

/// Asks shard `shard` for a connection, over the control plane. One attempt; a retryable failure is
/// kUnavailable. The client fills in everything that it knows itself.
using ShardConnector = std::function<absl::StatusOr<wire::ConnectReplyT>(
    ShardIndex shard, const wire::ConnectRequestT& request)>;

struct DataClientOptions {
  WorkerIndex worker;
  Incarnation incarnation;
  ViewNumber view;
  std::string host_id;
  std::string transport_kind = "ucx";  ///< what `transport` is, for the shard to compare
  std::string ucx_version;             ///< empty with another transport
  /// By shard, for errors: "ps 3". Empty: the shards' own numbers.
  std::vector<std::string> shard_names;
  absl::Duration connect_deadline = absl::Seconds(60);
  absl::Duration request_deadline = absl::Seconds(30);
};

/// Pushes gradients to all shards of a model and pulls weights from them.
///
/// Threads: one thread at a time calls everything but OnView and Abort; while it waits it drives
/// the transport itself. OnView and Abort may be called from any thread. Errors of every operation:
/// kDeadlineExceeded (the outcome is unknown), kUnavailable (a shard is gone, or the client was
/// aborted), kFailedPrecondition (this incarnation is fenced). After an error the client is of no
/// more use: destroy it.
class DataClient {
 public:
  /// Connects to every shard of `layout`, which is borrowed and outlives the client.
  static absl::StatusOr<std::unique_ptr<DataClient>> Connect(
      const Layout& layout, const DataClientOptions& options,
      std::unique_ptr<net::Transport> transport, const ShardConnector& connector);
  ~DataClient();

  /// Registered memory for weights or gradients of this client's model.
  absl::StatusOr<ParameterBuffer> AllocateParameters();

  /// Fills `weights` with every block's current values: each block is of one version, and contains
  /// this worker's own acknowledged pushes.
  absl::Status Pull(ParameterBuffer& weights);

  /// Adds one update with `gradients`, computed from the last pull, for global step `step`. Returns
  /// once every shard has applied it; `gradients` may then be overwritten.
  absl::Status Push(const ParameterBuffer& gradients, Step step);

  /// Reports `completed` (the step last pushed, if any), takes the next step and pulls `weights`
  /// for it, all at once. Empty when there is none left. Waits while every remaining step is in
  /// other workers' hands, as long as it takes.
  absl::StatusOr<std::optional<Step>> NextStep(std::optional<Step> completed,
                                               ParameterBuffer& weights);

  /// Reports `completed` and gives back the step that this worker holds, for others to take.
  absl::Status Release(std::optional<Step> completed);

  /// The membership changed.
  void OnView(ViewNumber view);
  /// Ends current and later operations with `why`.
  void Abort(const absl::Status& why);

  /// How this client reaches each shard, for people.
  std::vector<std::pair<ShardIndex, std::string>> paths() const;
  std::uint64_t pushes_acknowledged() const;
  /// Messages that were dropped because they carried no session of this client (docs/security.md).
  std::uint64_t strangers_messages() const;

 private:
  class Impl;
  explicit DataClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
