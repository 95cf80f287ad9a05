#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/common/child.h"
#include "bench/common/samples.h"
#include "bench/data/control.h"
#include "bench/data/options.h"

namespace weir::bench {

/// The CPU of each process: workers first, then ps, around the list.
std::vector<int> WorkerCpus(const DataBenchOptions& options);
std::vector<int> PsCpus(const DataBenchOptions& options);

/// The processes that measure one size: ps (shard_process.h) and workers (worker_process.h), pinned
/// and connected. Threads: one. Destruction kills them.
class ProcessSet {
 public:
  /// Errors: what a process ended with, its exit code and the end of its log.
  static absl::StatusOr<ProcessSet> Start(const DataBenchOptions& options, std::uint64_t size);

  /// Has every worker do `word` at the same time; returns all their samples.
  absl::StatusOr<Samples> Do(const std::string& word);
  /// Has the first worker and the first ps time the control of each kind, in this order, a kGet
  /// first.
  absl::StatusOr<std::vector<Samples>> DoControls(std::span<const ControlKind> kinds);
  /// path(), as it is after what has been done.
  absl::StatusOr<std::string> PathNow();
  /// From the first worker to the first ps, before the first push.
  const std::string& path() const { return path_; }
  /// Lets all of them end by themselves. Errors: as Start.
  absl::Status End();

 private:
  explicit ProcessSet(absl::Duration limit) : limit_(limit) {}
  absl::Duration limit_;  // of any one answer
  std::vector<Child> shards_;
  std::vector<Child> workers_;
  std::string path_;
};

}  // namespace weir::bench
