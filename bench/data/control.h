#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/common/samples.h"
#include "common/net/ucx/options.h"

namespace weir::bench {

// The control of latency and bandwidth: what UCX alone takes between the same two processes, with
// nothing of weir in it. The passive side polls all the time, so that each time is the wire's.
//
// Its UCX is set up as suits each transport best, not as weir's: without peer error handling, tcp
// with zero copy and segments of 256 KiB; UCX_ variables of the environment win, as they do for
// weir.

/// One of the controls.
enum class ControlKind {
  /// An active message of `size` bytes, and an answer of 8: a push's way over the wire, and a
  /// pull's the other way round. The message lands in memory. UCX chooses the protocol.
  kMessage,
  /// The same, always eager.
  kEagerMessage,
  /// ucp_get of `size` bytes out of the peer's shared memory.
  kGet,
};

/// The passive side. Threads: one.
class ControlResponder {
 public:
  /// Has `window` places of `size` bytes to be read from, and to land in one after another.
  static absl::StatusOr<std::unique_ptr<ControlResponder>> Create(net::UcxFabric fabric,
                                                                  std::uint64_t size, int window);
  virtual ~ControlResponder() = default;
  /// What a requester needs to know: one word without spaces.
  virtual std::string ticket() const = 0;
  /// Answers until `done()`, which is asked now and then.
  virtual void Serve(const std::function<bool()>& done) = 0;
};

/// "auto", "eager", "get", and back. Errors: kInvalidArgument.
std::string NameOf(ControlKind kind);
absl::StatusOr<ControlKind> ControlKindOf(const std::string& name);

/// "tcp", "shm", and back. Errors: kInvalidArgument.
std::string NameOf(net::UcxFabric fabric);
absl::StatusOr<net::UcxFabric> FabricOf(const std::string& name);
/// The fabric that compares with `path`, as a client tells it: "message (ucx tcp/lo)".
net::UcxFabric ControlFabricOf(const std::string& path);

struct ControlRun {
  net::UcxFabric fabric = net::UcxFabric::kTcp;
  ControlKind kind = ControlKind::kMessage;
  std::uint64_t size = 8;
  int window = 1;  ///< operations that start together; the time is of all of them
  std::uint64_t iters = 1;
  std::uint64_t warm_up = 0;
};

/// The active side: times `run` against the responder of `ticket`, which must be serving. `wrong`
/// counts answers that were not what the responder's memory, or the message, held. Each operation
/// of a window has its own memory at both ends, as each of weir's has its tensor, and this side's
/// is written anew before each window, outside the timed part. The responder's window must be the
/// same. A kGet must come before all messages, which overwrite what it reads. Errors:
/// kInvalidArgument for another program's ticket; what UCX says; kDeadlineExceeded when the
/// responder does not answer for 20 s.
absl::StatusOr<Samples> RunControl(const ControlRun& run, const std::string& ticket);

}  // namespace weir::bench
