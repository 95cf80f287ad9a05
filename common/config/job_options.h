#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/base/log.h"

namespace weir {

/// Transport as asked for with --transport (docs/configuration.md).
enum class TransportChoice { kAuto, kRequireRdma, kRdma, kTcp, kShm };

/// Everything that `weir run` and `weir local` are told about a job; each field is a row of the
/// options table (common/config/job_flags.cc), which gives its flag, default, limits and help.
struct JobOptions {
  std::string job = "fashion-mnist";
  std::string data_dir;  ///< empty: the job's default
  std::string model_dir;
  std::optional<std::uint64_t> max_steps;  ///< empty: the job's own
  int batch_size = 256;
  float learning_rate = 0.1F;
  std::string optimizer = "sgd";
  std::string mode = "async";
  TransportChoice transport = TransportChoice::kAuto;
  int ps_threads = 1;
  int keep_checkpoint_max = 5;                                ///< 0 keeps all
  std::uint64_t save_checkpoints_steps = 0;                   ///< 0: not by steps
  absl::Duration save_checkpoints_secs = absl::Seconds(600);  ///< 0: not by time
  std::uint64_t log_step_count_steps = 100;                   ///< 0: never
  std::uint64_t eval_steps = 0;                               ///< batches; 0: the whole test set
  std::uint64_t seed = 1;
  std::string summary;         ///< path; empty: none
  std::string net_devices;     ///< empty: UCX's own choice
  std::string ucx_port_range;  ///< "A-B"; empty: any
  std::string token;           ///< from WEIR_TOKEN or --token-file
  std::string tls_cert;        ///< PEM file, as are the next two; all three empty: no TLS
  std::string tls_key;
  std::string tls_ca;
  absl::Duration end_linger = absl::Seconds(60);
  absl::Duration start_deadline = absl::Seconds(300);
  absl::Duration lease = absl::Seconds(5);
  absl::Duration grace = absl::Seconds(30);
  LogLevel log_level = LogLevel::kInfo;  ///< the least that is logged
  LogFormat log_format = LogFormat::kText;
};

}  // namespace weir
