#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/model/layout.h"
#include "common/net/loopback.h"
#include "common/net/transport.h"
#include "ps_server/server.h"
#include "tests/integration/held_gets.h"
#include "worker/client/data_client.h"

namespace weir::testing {

inline constexpr WorkerIndex kA(0);
inline constexpr WorkerIndex kB(1);

/// What carries the messages between the roles of one process.
enum class Fabric {
  kLoopback,
  kUcxTcp,
  kUcxShm,
  // The same, and clients read the shards' memory.
  kLoopbackMapped,
  kUcxTcpMapped,
  kUcxShmMapped,
  // Clients read the shards' memory from afar.
  kLoopbackOneSided,
  kUcxRdma,  // needs an RDMA device: not among kFabrics
};
inline constexpr Fabric kFabrics[] = {
    Fabric::kLoopback,     Fabric::kUcxTcp,       Fabric::kUcxShm,          Fabric::kLoopbackMapped,
    Fabric::kUcxTcpMapped, Fabric::kUcxShmMapped, Fabric::kLoopbackOneSided};
bool IsMapped(Fabric fabric);
bool IsOneSided(Fabric fabric);
/// A suffix for a test's name.
std::string NameOf(Fabric fabric);
std::ostream& operator<<(std::ostream& out, Fabric fabric);

struct DataPlaneOptions {
  Fabric fabric = Fabric::kLoopback;
  int max_workers = 4;
  Step start_step;
  Step max_steps{1000000};
  float learning_rate = 0.1F;
  std::uint64_t notify_steps = 1;
  ps::BlockLoader loader;               ///< zeros where there is none
  std::function<void()> on_stats;       ///< called on a server's owner thread when it reports Stats
  std::shared_ptr<HeldGets> held_gets;  ///< of the servers; may be null
};

/// The parameter servers of one job in this process, wired as runtime/ps_role.cc wires them, but
/// for the control plane: Connect is a direct call, and the test is the chief that numbers views.
/// Thread-safe. Failures to set up end the process: no test can do anything with half of it.
class DataPlane {
 public:
  DataPlane(Layout layout, DataPlaneOptions options);
  ~DataPlane();

  const Layout& layout() const { return layout_; }
  /// A ps, with all its shards.
  ps::Server& server(int ps) { return *servers_[static_cast<std::size_t>(ps)]; }

  /// Ends one for good, its transport too. Nobody may call it afterwards.
  void Destroy(int ps) { servers_[static_cast<std::size_t>(ps)].reset(); }

  /// A new view with (without) this worker, given to every server and to the clients of `Connect`
  /// that are still alive. A worker that joins again gets a new incarnation.
  void Join(WorkerIndex worker);
  void Leave(WorkerIndex worker);
  ViewNumber view() const;

  /// A client of `worker`, which has joined, or is expected to; it must not outlive the plane.
  struct ClientDeleter {
    DataPlane* plane = nullptr;
    void operator()(DataClient* client) const;
  };
  using ClientPtr = std::unique_ptr<DataClient, ClientDeleter>;
  ClientPtr Connect(WorkerIndex worker);
  absl::StatusOr<ClientPtr> TryConnect(const DataClientOptions& options,
                                       const ShardConnector& connector);

  /// What `Connect` uses, to be changed.
  DataClientOptions OptionsOf(WorkerIndex worker) const;
  absl::StatusOr<wire::ConnectReplyT> Call(ShardIndex shard, const wire::ConnectRequestT& request);
  ShardConnector connector();
  /// A request that every shard accepts once `worker` has joined.
  wire::ConnectRequestT RequestOf(WorkerIndex worker) const;
  std::unique_ptr<net::Transport> CreateTransport() const;

  /// Waits until a report of the servers to the chief matches, 20 s at most; whether one did.
  bool WaitForReport(const std::function<bool(const wire::MemberBodyUnion&)>& matches);
  bool WaitForStep(Step step);

  /// Holds the owner thread of `shard` inside a report, as SIGSTOP would, until Thaw.
  void Freeze(int shard);
  void Thaw();

 private:
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Report(wire::MemberBodyUnion body);

  const Layout layout_;
  const DataPlaneOptions options_;
  std::shared_ptr<net::LoopbackFabric> loopback_;

  mutable Mutex mutex_;
  ViewNumber view_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::optional<Incarnation>> joined_ ABSL_GUARDED_BY(mutex_);
  std::vector<DataClient*> clients_ ABSL_GUARDED_BY(mutex_);

  Mutex report_mutex_;
  CondVar reported_;
  std::vector<wire::MemberBodyUnion> reports_ ABSL_GUARDED_BY(report_mutex_);
  int to_freeze_ ABSL_GUARDED_BY(report_mutex_) = 0;
  int freezes_ ABSL_GUARDED_BY(report_mutex_) = 0;  // so far
  int thaws_ ABSL_GUARDED_BY(report_mutex_) = 0;    // so far

  std::vector<std::unique_ptr<ps::Server>> servers_;
};

/// Runs `work` on a thread of its own and waits; a hang ends the process, since nothing could end
/// the thread.
void Within(absl::Duration limit, const std::function<void()>& work);

/// The result of a thread that was started with std::async, or the end of the process.
template <typename T>
T Await(std::future<T>& future, absl::Duration limit = absl::Seconds(30));
[[noreturn]] void Hang(absl::Duration limit);

template <typename T>
T Await(std::future<T>& future, absl::Duration limit) {
  if (future.wait_for(absl::ToChronoMilliseconds(limit)) != std::future_status::ready) Hang(limit);
  return future.get();
}

/// A tensor of zeros.
TensorSpec Tensor(std::string name, std::vector<std::int64_t> shape);

}  // namespace weir::testing
