#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "weir/tensor_spec.h"

namespace weir {

/// What a program tells of itself to take part in a job as one of its workers. Where the chief is,
/// how many ps there are and which worker this is stands in TF_CONFIG; how weights travel, the
/// chief says.
struct ClientConfig {
  std::string job = {};                  ///< the job's name
  std::vector<TensorSpec> tensors = {};  ///< the job's, in its order
  std::string tf_config = {};            ///< its text; empty: the variable TF_CONFIG
  std::string token = {};                ///< the cluster's; empty: the variable WEIR_TOKEN
  // PEM files for a job under TLS, all three or none; as --tls-cert, --tls-key and --tls-ca.
  std::string tls_cert = {};        ///< this process's certificate
  std::string tls_key = {};         ///< its private key
  std::string tls_ca = {};          ///< whom the certificates of chief and ps must lead to
  std::string net_devices = {};     ///< for UCX, with commas between; empty: its own choice
  std::string ucx_port_range = {};  ///< "A-B", TCP ports for UCX; empty: any
  /// How long to look for the chief and the ps.
  absl::Duration start_deadline = absl::Seconds(300);
};

/// One value of every tensor of a job: weights, or gradients. The memory is registered with the
/// network, so that pulls and pushes need no copy of it. Tensors are 64-byte aligned, row-major,
/// zero at first. It may outlive the client that allocated it. Threading: as a std::vector.
class Parameters {
 public:
  /// What was moved from may only be assigned to or destroyed.
  Parameters(Parameters&& other) noexcept;
  Parameters& operator=(Parameters&& other) noexcept;  ///< Frees what this one held.
  ~Parameters();

  /// How many tensors.
  std::size_t size() const;
  /// By the index in ClientConfig::tensors, which must be below size().
  std::span<float> operator[](std::size_t tensor);
  std::span<const float> operator[](std::size_t tensor) const;  ///< The same, to read.
  /// By name. Errors: kNotFound.
  absl::StatusOr<std::span<float>> Named(const std::string& name);

 private:
  friend class Client;
  class Impl;
  explicit Parameters(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A worker of a job, for programs with models and data of their own: it pulls weights and pushes
/// gradients, which the ps apply with the job's optimizer.
///
///     auto client = Client::Connect({.job = ..., .tensors = ...});
///     auto weights = (*client)->AllocateParameters();
///     auto gradients = (*client)->AllocateParameters();
///     while (true) {
///       const auto step = (*client)->NextStep(*weights);
///       if (!step.ok() || !step->has_value()) break;
///       ...                                           // gradients of weights
///       const absl::Status pushed = (*client)->Push(*gradients);
///     }
///     const absl::Status end = (*client)->Finish();
///
/// (Every one of these may fail, and is to be looked at.)
///
/// Steps: the job has max_steps of them, for all its workers together. One that is taken is this
/// worker's until it has pushed for it, and the job waits for that; a worker that ends gives its
/// step back. A step counts as completed when the next call of NextStep, Push or Finish tells.
///
/// Threads: one thread at a time. A call drives the network while it waits; between calls only the
/// lease is renewed, on a thread of the client's own. Calls log to stderr.
///
/// Errors: the first one that is not the caller's mistake is final: every later call returns it.
/// It carries the exit code that a worker of weir would end with: kPeerLost (4) where a ps or the
/// chief was lost or this worker was taken for dead; kDone with kCancelled where the job ended
/// in order. No call waits for one that is gone for longer than the lease. Mistakes
/// (kInvalidArgument, kFailedPrecondition) change nothing.
class Client {
 public:
  /// Joins the job and connects to every ps; waits for those that are not there yet. One client a
  /// process at a time; none in a process that called TrainAndEvaluate.
  /// Errors: kInvalidArgument (exit 2) listing every mistake of the configuration; refused by the
  ///   chief (exit 2), for another job or other tensors than the job's; kDeadlineExceeded (exit 4)
  ///   after start_deadline; kCancelled (exit 0) when the job has ended already.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(ClientConfig config);
  /// Reports the last completed step, gives back one that is held, and says goodbye, without
  /// waiting for the job's end. To the job it is a worker that left.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Registered memory for weights or for gradients, for this client's calls only. Push from four
  /// at most: a ps that takes gradients from where they lie keeps as many within reach, and a push
  /// from any other goes by message (slower; `weir status` says so).
  /// Errors: kResourceExhausted.
  absl::StatusOr<Parameters> AllocateParameters();

  /// Fills `weights` with the newest values. Takes no step: a program that reads only may pull as
  /// often as it likes, and the job does not end before it has called Finish or is gone.
  absl::Status Pull(Parameters& weights);

  /// Takes the next global step and fills `weights` for it; empty when no step is left. Waits while
  /// all that remain are in other workers' hands. Errors: kFailedPrecondition while a step is held.
  absl::StatusOr<std::optional<std::uint64_t>> NextStep(Parameters& weights);

  /// Applies one update, for the step that is held; where none is, takes one first. Returns once
  /// every ps has applied it, exactly once; `gradients` may then be overwritten. After an error
  /// they may only be destroyed: a ps that was slow may still read them. Errors:
  /// kOutOfRange when no step is left.
  absl::Status Push(const Parameters& gradients);

  /// Updates of this client that were applied.
  std::uint64_t Clock() const;
  /// The newest global step that this client knows of: the last that it took, at first the one that
  /// the job started from.
  std::uint64_t GlobalStep() const;

  /// Tells the chief the loss at the last step taken, for its log, status and summary.
  void ReportLoss(float loss);

  /// Takes no more steps, and waits for the job's end, as weir's own workers do.
  /// Returns OK where it ended well. After it, every call but Clock and GlobalStep is a mistake.
  absl::Status Finish();

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
