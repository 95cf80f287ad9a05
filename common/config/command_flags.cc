#include "common/config/command_flags.h"

#include <string>
#include <utility>

#include "common/config/job_flags.h"

namespace weir {
namespace {

// A laptop's process table is the limit; a larger number is a slip of the finger.
constexpr int kMaxLocalTasks = 256;

FlagTable WithJobFlags(FlagTable table, std::string& config_file, JobOptions& job) {
  table.push_back({"--config", "FILE.json", "values for the flags that are not given",
                   Text(config_file), "none"});
  for (Flag& flag : JobFlags(job)) table.push_back(std::move(flag));
  return table;
}

}  // namespace

FlagTable RunFlags(RunArguments& arguments) {
  return WithJobFlags({{"--tf-config", "FILE", "the cluster and this process's task",
                        Text(arguments.tf_config_file), "the variable TF_CONFIG"}},
                      arguments.config_file, arguments.job);
}

FlagTable LocalFlags(LocalArguments& arguments) {
  FlagTable table =
      WithJobFlags({{"--ps", "N", "parameter servers", IntegerIn(arguments.ps, 1, kMaxLocalTasks)},
                    {"--workers", "N", "workers", IntegerIn(arguments.workers, 1, kMaxLocalTasks)},
                    {"--evaluator", "", "an evaluator too", Switch(arguments.evaluator)},
                    {"--pin", "LIST", "CPUs by role, as in worker=0+1,ps=1; members take turns",
                     CpuPinsValue(arguments.pin), "the kernel's choice"}},
                   arguments.config_file, arguments.job);
  for (Flag& flag : table) {
    if (flag.name == "--model-dir") flag.default_text = "a fresh one";
  }
  return table;
}

std::vector<FlagText> RunFlagTexts() {
  RunArguments defaults;
  return Describe(RunFlags(defaults));
}

std::vector<FlagText> LocalFlagTexts() {
  LocalArguments defaults;
  return Describe(LocalFlags(defaults));
}

}  // namespace weir
