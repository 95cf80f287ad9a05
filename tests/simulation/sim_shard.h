#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/arena/arena_reader.h"
#include "common/base/bytes.h"
#include "ps_server/logic/admission.h"
#include "ps_server/logic/block_store.h"
#include "ps_server/logic/connections.h"
#include "ps_server/logic/push_fetches.h"
#include "ps_server/logic/shard.h"
#include "ps_server/logic/shard_counters.h"
#include "schemas/chief_generated.h"
#include "schemas/shard_generated.h"
#include "tests/simulation/history.h"
#include "tests/simulation/processes.h"
#include "tests/simulation/sim_disk.h"

namespace weir::sim {

class SimCluster;

/// The memory of one shard as a worker on its host has it mapped: outlives the shard.
struct SimMapping {
  ProcessId ps = kNoProcess;
  std::shared_ptr<std::byte> memory;
  arena::Reader reader;
};

/// The shell of one shard: its memory, its connections, its checkpoint writer.
class SimShard final : private ps::ShardOutput {
 public:
  using Report = std::function<void(wire::MemberBodyUnion)>;
  SimShard(SimCluster& cluster, ShardIndex index, ProcessId process, Report report);
  ~SimShard() override;

  void OnView(ViewNumber view, const std::vector<Life>& live);
  wire::ConnectReplyT Connect(const wire::ConnectRequestT& request);
  void OnPush(const wire::PushBlock& header, const std::vector<std::byte>& payload);
  /// A push that names its gradient, which is read from afar, while its worker does what it likes.
  void OnPushToFetch(const wire::PushBlock& header,
                     const std::shared_ptr<std::vector<float>>& gradient);
  void OnPull(const wire::PullRequest& header);
  void OnTicket(const wire::TicketRequest& header);
  void StopTraining() { shard_.StopTraining(); }
  /// Reports CheckpointDone; the file belongs to the run of `chief`.
  void TakeCheckpoint(std::uint32_t id, Step step, ProcessId chief);
  void SendStats();
  /// The connections of its process break.
  void Disconnect();

  /// Nothing for a shard without blocks.
  std::optional<SimMapping> Map() const;

  ProcessId process() const { return process_; }
  ViewNumber view() const { return shard_.view(); }
  Step global_step() const { return shard_.global_step(); }
  std::span<const float> values(BlockId block) const { return store_.values(block); }

 private:
  void SendPushAck(WorkerIndex to, const wire::PushAck& ack) override;
  void SendBlock(WorkerIndex to, const wire::PullBlock& header, ps::BlockPin pin) override;
  void SendPullRefusal(WorkerIndex to, const wire::PullBlock& header) override;
  void SendTicket(WorkerIndex to, const wire::TicketReply& reply) override;
  void CloseWorker(WorkerIndex worker, absl::string_view what) override;
  void StepCompleted(Step step) override;

  /// Where an answer goes; empty when that connection is closed.
  std::optional<Life> Receiver(WorkerIndex to, std::uint64_t session) const;
  bool Knows(std::uint64_t session);
  void Close(const ps::Connection& connection);
  void CheckSpares();

  // sim_shard_fetches.cc
  struct Fetching;
  void StartFetches();
  void StartFetch(std::size_t place);
  void FetchEnded(const Fetching& fetching);
  void GiveBackPlacesOf(std::uint64_t session);

  struct Cut {
    std::uint32_t id = 0;
    Step step;
    ProcessId chief = kNoProcess;
    std::uint64_t folder = 0;  // that the temporary file lies in
    ps::Shard::Snapshot snapshot;
    SimShardFile file;
  };
  void BeginCut();
  void WriteNext(const std::shared_ptr<Cut>& cut);
  void FinishCut(const std::shared_ptr<Cut>& cut);
  void ReportDone(std::uint32_t id, const std::string& error);

  SimCluster& cluster_;
  const ShardIndex index_;
  const ProcessId process_;
  const Report report_;
  const std::size_t memory_bytes_;
  const std::shared_ptr<std::byte> memory_;
  ps::BlockStore store_;
  ps::ShardCounters counters_;
  ps::Shard shard_;
  ps::Admission admission_;
  ps::Connections connections_;
  std::map<WorkerIndex, int> blocks_being_sent_;
  // Few places to land in, so that pushes wait for one.
  static constexpr std::size_t kLandingPlaces = ps::PushFetches::kPlacesOfOne + 1;
  ps::PushFetches fetches_;
  // By place: what a device writes into, whether this process lives or not.
  const std::shared_ptr<std::vector<std::vector<float>>> landing_;
  std::array<std::shared_ptr<Fetching>, kLandingPlaces> under_way_;
  // Memory of workers, by session and block.
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::shared_ptr<std::vector<float>>> exported_;
  struct CutRequest {
    std::uint32_t id = 0;
    Step step;
    ProcessId chief = kNoProcess;
  };
  std::optional<CutRequest> next_cut_;
  std::vector<SimShardFile::Entry> earlier_cut_;  // for a plant
  std::vector<Life> earlier_view_, departed_;     // for another
  wire::TicketRequest ticket_;                    // the one that is being handled
};

}  // namespace weir::sim
