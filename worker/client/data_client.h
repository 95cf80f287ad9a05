#pragma once

#include <cstddef>
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

/// Whether, on one host, weights are read straight from the memory of the shards, and gradients by
/// the shards from that of their worker.
enum class Mapping {
  kNever,
  kWhereItWorks,  ///< where it does not, pulls or pushes go by message, and paths() says why
  kRequired,      ///< where it does not is an error of Connect
};

/// Whether weights are read from afar, out of the memory of shards that are not mapped, and
/// gradients by the shards out of that of their worker.
enum class OneSidedReads {
  kNever,
  kRequired,  ///< a shard that cannot be read so is an error of Connect
};

struct DataClientOptions {
  WorkerIndex worker;
  Incarnation incarnation;
  ViewNumber view;
  std::string host_id;
  std::string transport_kind = "ucx";  ///< what `transport` is, for the shard to compare
  std::string ucx_version;             ///< empty with another transport
  Mapping mapping = Mapping::kWhereItWorks;
  OneSidedReads one_sided_reads = OneSidedReads::kNever;
  /// By shard, for errors: "ps 3". Empty: the shards' own numbers.
  std::vector<std::string> shard_names;
  absl::Duration connect_deadline = absl::Seconds(60);
  /// What one call waits for the shards at most; a wait for other workers' steps excepted.
  absl::Duration request_deadline = absl::Seconds(30);
};

/// Pushes gradients to all shards of a model and pulls weights from them.
///
/// Two ways to train, which may take turns. Whole:
///     step = NextStep(completed, weights); compute; Push(gradients, step)
/// Or overlapped, tensor by tensor, so that gradients leave and the next weights arrive while other
/// layers compute:
///     step = BeginStep(completed, weights, gradients)
///     AwaitTensor(t) before each tensor's first read; PushTensor(t) when its gradient is final
///     FinishStep()
///
/// Threads: one thread at a time calls everything but OnView, Abort and Interrupt, which any thread
/// may call; while it waits it drives the transport itself. Once warm, no call allocates.
/// Errors of every operation: kDeadlineExceeded (the outcome is unknown), kUnavailable (a shard is
/// gone), kFailedPrecondition (this incarnation is fenced, or the call does not fit: see each), or
/// whatever Abort was given. After an error the client is of no more use: destroy it. The buffers
/// may be destroyed first: no call that fails leaves one being written.
///
/// Quarantine: gradients of a push that failed must not be written again, only destroyed. A shard
/// that has them mapped, or reads them from afar, and was slow may apply the push late, and would
/// apply what is written. Mapped memory the shard holds by itself, until it has closed this
/// client's connection; memory that is read from afar this client holds, until it is destroyed and
/// with it what it could be read over.
class DataClient {
 public:
  /// Connects to every shard of `layout`, which is borrowed and outlives the client.
  static absl::StatusOr<std::unique_ptr<DataClient>> Connect(
      const Layout& layout, const DataClientOptions& options,
      std::unique_ptr<net::Transport> transport, const ShardConnector& connector);
  ~DataClient();

  /// Registered memory for weights or gradients of this client's model.
  absl::StatusOr<ParameterBuffer> AllocateParameters();

  // None of these five may be called between a BeginStep that granted a step and its FinishStep
  // (kFailedPrecondition); but Release may, while no tensor was pushed.

  /// Fills `weights` with every block's current values: each block is of one version, and contains
  /// this worker's own acknowledged pushes.
  absl::Status Pull(ParameterBuffer& weights);

  /// Adds one update with `gradients`, computed from the last pull, for global step `step`. Returns
  /// once every shard has applied it; `gradients` may then be overwritten.
  absl::Status Push(const ParameterBuffer& gradients, Step step);

  /// Reports `completed` (the step last pushed, if any), takes the next step and pulls `weights`
  /// for it, all at once. Empty when there is none left. Waits while every remaining step is in
  /// other workers' hands, as long as it takes.
  /// Errors: kCancelled after Interrupt; the client is then as good as before.
  absl::StatusOr<std::optional<Step>> NextStep(std::optional<Step> completed,
                                               ParameterBuffer& weights);

  /// NextStep without the pull, for who computes from weights that it pulled before.
  absl::StatusOr<std::optional<Step>> TakeStep(std::optional<Step> completed);

  /// Reports `completed` and gives back the step that this worker holds, for others to take.
  absl::Status Release(std::optional<Step> completed);

  /// As NextStep, but returns with the step, while its weights may still be arriving. Blocks that
  /// followed the last step's pushes into the same `weights` are not pulled again, unless the step
  /// had to be waited for so long that they are old.
  /// Both buffers are the client's until FinishStep has returned, `weights` beyond that: what
  /// follows goes there until the next call of another kind than BeginStep.
  absl::StatusOr<std::optional<Step>> BeginStep(std::optional<Step> completed,
                                                ParameterBuffer& weights,
                                                const ParameterBuffer& gradients);

  // Between a BeginStep that granted a step and its FinishStep; `tensor` is an index into the
  // layout's tensors, out of whose range is kInvalidArgument.

  /// Returns once the weights of `tensor` are this step's; at once where they are already. They
  /// stay so until PushTensor. kFailedPrecondition after PushTensor.
  absl::Status AwaitTensor(std::size_t tensor);

  /// The gradient of `tensor` is final, and its weights are read no more. Sends what the credits
  /// allow, does what else is ready on the network, and never waits; the rest goes out with later
  /// calls. Each block's next value is pulled into `weights` once its push is acknowledged. In any
  /// order of tensors; kFailedPrecondition the second time for one.
  absl::Status PushTensor(std::size_t tensor);

  /// Returns once every shard has applied the step's update; the gradients may then be overwritten.
  /// kFailedPrecondition if a tensor was not pushed.
  absl::Status FinishStep();

  /// Ends a step that cannot be finished since the model failed: aborts the client with `why`, and
  /// lets go of the buffers. After it, and after any error, it does nothing.
  void FailStep(const absl::Status& why);

  /// The membership changed.
  void OnView(ViewNumber view);
  /// Ends current and later operations with `why`.
  void Abort(const absl::Status& why);
  /// Ends a wait for the next step, now and later, with kCancelled: for a worker that is to leave.
  /// Nothing else is touched, so a step under way can be finished, and Release gives back what the
  /// wait may have been granted all the same.
  void Interrupt();

  /// How this client reaches each shard, for people.
  std::vector<std::pair<ShardIndex, std::string>> paths() const;
  std::uint64_t pushes_acknowledged() const;
  /// Blocks that were read from mapped shards; and those that could not be, just then, and were
  /// asked for by message instead.
  struct MappedReads {
    std::uint64_t blocks = 0;
    std::uint64_t declined = 0;
    std::uint64_t bytes = 0;  ///< of those that were read
  };
  MappedReads mapped_reads() const;
  /// The same of blocks that were read from afar.
  MappedReads one_sided_reads() const;
  /// Blocks that were pushed by their place in mapped memory, repetitions included.
  std::uint64_t mapped_pushes() const;
  /// The same of those that the shards read from afar.
  std::uint64_t one_sided_pushes() const;
  /// Messages that were dropped because they carried no session of this client (docs/security.md).
  std::uint64_t strangers_messages() const;

 private:
  class Impl;
  explicit DataClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
