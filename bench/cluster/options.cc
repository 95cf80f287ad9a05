#include "bench/cluster/options.h"

#include "bench/common/only_flags.h"
#include "common/config/flag_value.h"
#include "common/config/mistakes.h"

namespace weir::bench {
namespace {

FlagTable Flags(ClusterBenchOptions& options) {
  return {
      {"--job", "FILE.json", "the job file that chief and ps were started with", Text(options.job)},
      {"--net-devices", "LIST", "for UCX, with commas between", Text(options.client.net_devices),
       "UCX's own choice"},
      {"--ucx-port-range", "A-B", "TCP ports for UCX", Text(options.client.ucx_port_range), "any"},
      {"--tls-cert", "FILE", "this process's certificate", Text(options.client.tls_cert)},
      {"--tls-key", "FILE", "its private key", Text(options.client.tls_key)},
      {"--tls-ca", "FILE", "whom the certificates of chief and ps must lead to",
       Text(options.client.tls_ca)},
      {"--json", "FILE", "write the figures there too", Text(options.json)},
  };
}

}  // namespace

absl::StatusOr<ClusterBenchOptions> ParseClusterBench(std::span<const std::string> arguments) {
  ClusterBenchOptions options;
  Mistakes mistakes;
  options.help_requested = ParseOnlyFlags(arguments, Flags(options), mistakes);
  if (options.help_requested) return options;
  if (options.job.empty()) {
    mistakes.Add("--job", "is missing; name the job file that chief and ps were started with");
  }
  if (!mistakes.empty()) return mistakes.ToStatus("weir bench cluster");
  return options;
}

std::vector<FlagText> ClusterBenchFlagTexts() {
  ClusterBenchOptions defaults;
  return Describe(Flags(defaults));
}

}  // namespace weir::bench
