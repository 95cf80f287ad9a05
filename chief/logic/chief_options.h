#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "common/base/ids.h"

namespace weir::chief {

/// What the chief is told about the job that it leads.
struct ChiefOptions {
  // The cluster: listed tasks, by index. An evaluator need not be listed to take part.
  std::set<std::uint32_t> ps;       ///< not empty; the lowest holds the step counter
  std::set<std::uint32_t> workers;  ///< not empty
  std::set<std::uint32_t> evaluators;

  // This process, as a member of the view.
  std::string address;  ///< host:port
  std::uint64_t incarnation = 0;
  std::uint32_t pid = 0;

  // What every member must agree on.
  std::uint32_t protocol = 0;  ///< of the control plane; filled in by Service::Create
  std::string job;
  std::uint64_t job_fingerprint = 0;
  std::string job_settings;              ///< the same, readable, for the refusal
  std::uint64_t layout_fingerprint = 0;  ///< what programs that use weir::Client must agree on
  std::string layout;                    ///< the same, readable
  std::string transport = "auto";        ///< what they are told to use
  bool one_host = false;                 ///< the cluster's addresses are all loopback
  std::uint32_t ps_threads = 1;          ///< shards of each ps
  bool has_test_data = true;             ///< false: nobody can evaluate
  std::string mode = "async";
  std::string model_dir_nonce;

  // Where the run begins and ends.
  Step start_step;
  Step max_steps;
  std::string resume_checkpoint;  ///< folder of the checkpoint resumed from; empty: none
  bool resume_is_final = false;   ///< it carries the final mark already
  int batch_size = 0;             ///< 0: not known, the workers being programs of their own

  std::uint64_t save_checkpoints_steps = 0;                 ///< 0: not by steps
  absl::Duration save_checkpoints_secs = absl::Duration();  ///< 0: not by time
  int keep_checkpoint_max = 5;                              ///< 0 keeps all
  std::uint64_t log_step_count_steps = 100;                 ///< 0: never

  absl::Duration lease = absl::Seconds(5);
  absl::Duration start_deadline = absl::Seconds(300);
  absl::Duration grace = absl::Seconds(30);       ///< from a stop to the end, checkpoint included
  absl::Duration end_linger = absl::Seconds(60);  ///< after the end; bounds the last evaluation too

  // Limits that no flag sets.
  absl::Duration missing_log_period = absl::Seconds(5);
  /// Between two looks at the shards' figures, for the status.
  absl::Duration stats_period = absl::Seconds(2);
  /// For a ps that lives to answer SendStats: it only has to read counters.
  absl::Duration answer_limit = absl::Seconds(10);
  /// For listed workers, where all ps and one worker are in and have RDMA (RdmaChoice).
  absl::Duration rdma_patience = absl::Seconds(10);
  /// From TakeCheckpoint to the commit; then it is abandoned, so that another can be tried.
  absl::Duration checkpoint_limit = absl::Seconds(300);
  /// After a failure or a stop only those who were in are waited for: they leave at once or never.
  absl::Duration failure_linger = absl::Seconds(1);
  /// At a good end, for one who asked for the status no longer ago to ask once more.
  absl::Duration watcher_patience = absl::Seconds(1);
  absl::Duration stop_linger = absl::Seconds(5);
};

}  // namespace weir::chief
