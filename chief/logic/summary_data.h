#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::chief {

/// Whole pushes: those of all of a step's blocks.
struct PushCounts {
  std::uint64_t acknowledged = 0;  ///< steps that every shard acknowledged
  std::uint64_t applied = 0;       ///< pushes that every shard with blocks applied
  std::uint64_t duplicates = 0;    ///< blocks that came again and were not applied
  std::uint64_t dropped = 0;       ///< always 0 in async
  std::uint64_t lost = 0;          ///< acknowledged, but neither applied nor dropped
};

/// In versions between a block's pull and its push.
struct StalenessFigures {
  std::uint64_t p50 = 0, p99 = 0, max = 0;
};

struct ByteCounts {
  std::uint64_t pushed = 0, pulled = 0;
};

struct PathTaken {
  std::string from, to, path;  ///< "worker 0", "ps 1", "message"
};

/// Where the time of one worker's steps went, in seconds (worker/training/phase_times.h).
struct WorkerPhases {
  std::uint32_t worker = 0;
  std::uint64_t steps = 0;
  double data = 0, ticket = 0, pull = 0, forward = 0, backward = 0, push = 0;
};

struct MemberSummary {
  std::string role;
  std::uint32_t index = 0;
  std::uint32_t pid = 0;
  std::optional<int> exit_code;
  std::optional<std::uint64_t> peak_rss_bytes;
};

/// What --summary reports (README, "Summary"): each field is one key.
struct Summary {
  std::string job, mode;
  std::uint64_t ps = 0, workers = 0;  ///< as listed in the cluster
  std::uint64_t global_step = 0;
  double wall_seconds = 0;   ///< of the chief, from its start
  double train_seconds = 0;  ///< first ticket to last acknowledgement of this run
  double steps_per_second = 0, examples_per_second = 0;  ///< of this run's steps
  std::optional<float> final_loss;
  std::optional<float> test_accuracy;  ///< of the last evaluation
  std::vector<PathTaken> paths;
  bool rdma = false;    ///< the chief chose RDMA for the weights
  std::string no_rdma;  ///< why not, where that is worth telling
  PushCounts pushes;
  StalenessFigures staleness;
  ByteCounts bytes;
  std::vector<WorkerPhases> phases;  ///< of the workers that finished
  std::vector<MemberSummary> members;
  std::string checkpoint;  ///< folder in the model directory; empty: none
};

}  // namespace weir::chief
