#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "weir/job.h"

namespace weir {

/// How long to train.
struct TrainSpec {
  /// Global steps over all workers, exactly; empty: the job's own.
  std::optional<std::uint64_t> max_steps;
};

/// How much to evaluate.
struct EvalSpec {
  /// Batches of the test set for each evaluation; 0: all of it.
  std::uint64_t steps = 0;
};

/// How a job is run. What stands here is what most programs set; the rest has the defaults of
/// `weir run` (docs/configuration.md).
struct RunConfig {
  std::string model_dir;                     ///< empty: TF_CONFIG's; one of them must be given
  std::string data_dir;                      ///< empty: the job's own default
  int batch_size = 256;                      ///< examples a step, of each worker
  float learning_rate = 0.1F;                ///< of SGD, constant
  std::uint64_t seed = 1;                    ///< of first values and shuffling
  int keep_checkpoint_max = 5;               ///< 0 keeps all
  std::uint64_t save_checkpoints_steps = 0;  ///< 0: not by steps
  absl::Duration save_checkpoints_secs = absl::Seconds(600);  ///< 0: not by time
  std::uint64_t log_step_count_steps = 100;                   ///< 0: never
  std::string tls_cert;  ///< PEM file for mutual TLS, of this process; all three or none
  std::string tls_key;   ///< likewise, its private key
  std::string tls_ca;    ///< likewise, whose certificates are accepted
  std::string summary;   ///< path of the chief's; empty: none
};

/// Takes this process's part in training and evaluating `job`, to the job's end: chief, ps, worker
/// or evaluator, as the environment's TF_CONFIG says. Every process of the cluster calls it with
/// the same job and settings. Without a cluster in TF_CONFIG it starts this same program again for
/// a chief, one ps and one worker on this machine, so call it first thing in main.
///
/// Logs to stderr. The cluster token comes from WEIR_TOKEN. SIGTERM and SIGINT end it in order.
/// Returns OK at the job's end; errors carry the exit code that `weir run` would have
/// (weir/exit_code.h): kInvalidArgument listing all mistakes of the configuration (2), bad
/// data or checkpoint (3), a lost peer (4).
absl::Status TrainAndEvaluate(const Job& job, const TrainSpec& train, const EvalSpec& eval,
                              const RunConfig& config);

}  // namespace weir
