#include "common/config/job_flags.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/choice_flags.h"
#include "common/config/model_dir.h"
#include "common/config/token.h"
#include "common/config/token_flag.h"

namespace weir {
namespace {

// Beyond 2^53 a reader of our JSON that keeps numbers as doubles would see another number.
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 53U;
constexpr double kYear = 365.0 * 24 * 3600;
constexpr double kDay = 24.0 * 3600;

FlagTable TrainingFlags(JobOptions& job) {
  return {
      {"--job", "NAME|FILE.json", "what to train: built in, or a file of tensors", Text(job.job)},
      {"--data-dir", "DIR", "where its data is", Text(job.data_dir), "the job's own"},
      {"--max-steps", "N", "stop at this global step", IntegerIn(job.max_steps, 1, kMaxCount),
       "the job's own"},
      {"--batch-size", "N", "examples a step", IntegerIn(job.batch_size, 1, 1 << 20)},
      {"--learning-rate", "F", "step of the optimizer; above 0", PositiveNumber(job.learning_rate)},
      {"--optimizer", "NAME", "how gradients are applied; sgd", OptimizerValue(job.optimizer)},
      {"--mode", "async", "consistency of the weights", ModeValue(job.mode)},
      {"--ps-threads", "N", "shards of each ps, with a thread each",
       IntegerIn(job.ps_threads, 1, 256)},
      {"--seed", "N", "of first values and shuffling",
       IntegerIn(job.seed, 0, std::numeric_limits<std::uint64_t>::max())},
  };
}

FlagTable SavingFlags(JobOptions& job) {
  return {
      {"--keep-checkpoint-max", "N", "keep the newest N checkpoints; 0: all",
       IntegerIn(job.keep_checkpoint_max, 0, 1 << 20)},
      {"--save-checkpoints-steps", "N", "save every N steps; 0: not by steps",
       IntegerIn(job.save_checkpoints_steps, 0, kMaxCount)},
      {"--save-checkpoints-secs", "N", "save every N seconds; 0: not by time",
       SecondsIn(job.save_checkpoints_secs, 0, kYear),
       absl::StrCat(absl::ToDoubleSeconds(job.save_checkpoints_secs),
                    "; 0 beside --save-checkpoints-steps")},
      {"--log-step-count-steps", "N", "log every N steps; 0: never",
       IntegerIn(job.log_step_count_steps, 0, kMaxCount)},
      {"--eval-steps", "N", "batches of an evaluation; 0: the whole test set",
       IntegerIn(job.eval_steps, 0, kMaxCount)},
      {"--summary", "FILE.json", "write the run's results there", Text(job.summary)},
  };
}

FlagTable NetworkFlags(JobOptions& job) {
  return {
      {"--transport", "auto|require-rdma|rdma|tcp|shm",
       "how pushes and pulls travel; auto: RDMA between hosts that all have it, else tcp, and "
       "mapped memory on one host; rdma: an RDMA device, or exit 2",
       TransportValue(job.transport)},
      {"--net-devices", "LIST", "network devices for UCX, with commas between",
       Text(job.net_devices, CheckDeviceList), "UCX's choice"},
      {"--ucx-port-range", "A-B", "TCP ports for UCX", Text(job.ucx_port_range, CheckPortRange),
       "any"},
      {"--token-file", "FILE", "the cluster's token", TokenFileValue(job.token),
       absl::StrCat("the variable ", kTokenVariable)},
      {"--tls-cert", "FILE", "this process's certificate (PEM); TLS takes all three files",
       Text(job.tls_cert), "no TLS"},
      {"--tls-key", "FILE", "its private key", Text(job.tls_key), "no TLS"},
      {"--tls-ca", "FILE", "whom the certificates of peers must lead to", Text(job.tls_ca),
       "no TLS"},
  };
}

FlagTable PatienceFlags(JobOptions& job) {
  return {
      {"--start-deadline", "S", "seconds to find the other roles",
       SecondsIn(job.start_deadline, 0.1, kDay)},
      // Renewed every second: a lease must outlast one renewal that is late.
      {"--lease", "S", "seconds without a sign of life before a role counts as lost; from 2",
       SecondsIn(job.lease, 2, kDay)},
      {"--grace", "S", "seconds for a checkpoint after SIGTERM or SIGINT",
       SecondsIn(job.grace, 0, kDay)},
      {"--end-linger", "S", "seconds to wait for the others at the end",
       SecondsIn(job.end_linger, 0, kDay)},
  };
}

FlagTable LogFlags(JobOptions& job) {
  return {
      {"--log-level", "debug|info|warning|error", "the least that is logged",
       LogLevelValue(job.log_level)},
      {"--log-format", "text|json", "log lines for people, or a JSON object a line",
       LogFormatValue(job.log_format)},
  };
}

FlagTable MissingFlags() {
  FlagTable table;
  const std::pair<const char*, const char*> missing[] = {{"--eval-every-steps", "N"}};
  for (const auto& [name, placeholder] : missing)
    table.push_back({name, placeholder, "", NotInThisVersion(), "", false});
  table.push_back({"--backups", "0|1", "", BackupsValue(), "", false});
  return table;
}

}  // namespace

FlagTable JobFlags(JobOptions& job) {
  FlagTable table = {{"--model-dir", "DIR", "checkpoints and logs; shared by all hosts",
                      Text(job.model_dir, CheckModelDir)}};
  for (FlagTable part : {TrainingFlags(job), SavingFlags(job), NetworkFlags(job),
                         PatienceFlags(job), LogFlags(job), MissingFlags()}) {
    for (Flag& flag : part) table.push_back(std::move(flag));
  }
  return table;
}

}  // namespace weir
