#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/ids.h"

namespace weir::ps {

/// Pushes by staleness: bucket i counts those that were i versions behind, the last all above.
inline constexpr int kStalenessBuckets = 256;

/// What a shard counts, written by its owner thread and read by any: all relaxed, since each number
/// stands for itself. Clocks are stored with release, after the updates that they count. (Versions
/// are the BlockStore's.)
class ShardCounters {
 public:
  explicit ShardCounters(int max_workers);

  std::atomic<std::uint32_t>& clock(WorkerIndex worker) { return clocks_[worker.value()]; }
  std::atomic<std::uint64_t>& applied(WorkerIndex worker) { return applied_[worker.value()]; }
  std::atomic<std::uint64_t>& completed(WorkerIndex worker) { return completed_[worker.value()]; }
  int max_workers() const { return max_workers_; }

  std::array<std::atomic<std::uint64_t>, kStalenessBuckets> staleness{};
  std::atomic<std::uint64_t> duplicates{0};  ///< blocks that came again and were not applied
  std::atomic<std::uint64_t> refused{0};     ///< blocks answered StaleView, Busy or Fenced
  std::atomic<std::uint64_t> bytes_pushed{0};
  std::atomic<std::uint64_t> bytes_pulled{0};
  std::atomic<std::uint64_t> global_step{0};

 private:
  const int max_workers_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> clocks_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> applied_;  // whole pushes, by worker
  std::unique_ptr<std::atomic<std::uint64_t>[]>
      completed_;  // steps, by worker (step counter's shard)
};

}  // namespace weir::ps
