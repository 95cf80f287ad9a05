#include "runtime/client_setup.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/config/choice_flags.h"
#include "common/config/mistakes.h"
#include "common/config/tf_config.h"
#include "common/config/token.h"
#include "weir/exit_code.h"

namespace weir {
namespace {

constexpr char kSubject[] = "weir::ClientConfig";

void CheckConfig(const ClientConfig& config, Mistakes& mistakes) {
  const auto check = [&mistakes](const char* field, const absl::Status& status) {
    if (!status.ok()) mistakes.Add(field, status.message());
  };
  if (config.job.empty()) mistakes.Add("job", "is empty; write the job's name");
  check("tensors", ValidateTensors(config.tensors));
  if (config.tensors.empty()) mistakes.Add("tensors", "is empty; write the job's tensors");
  if (!config.net_devices.empty()) check("net_devices", CheckDeviceList(config.net_devices));
  if (!config.ucx_port_range.empty())
    check("ucx_port_range", CheckPortRange(config.ucx_port_range));
  if (config.start_deadline <= absl::ZeroDuration())
    mistakes.Add("start_deadline", "is no time to wait; write some seconds");
}

std::string ReadToken(const ClientConfig& config, const Environment& environment,
                      Mistakes& mistakes) {
  const Environment given = [&config](const std::string&) { return std::optional(config.token); };
  absl::StatusOr<std::string> token = TokenOf(config.token.empty() ? environment : given);
  if (token.ok()) return *std::move(token);
  mistakes.Add(config.token.empty() ? kTokenVariable : "token", token.status().message());
  return "";
}

// A client is a worker, and nothing but that: it cannot host the chief.
void CheckCluster(const std::optional<ClusterSpec>& cluster, Mistakes& mistakes) {
  if (!cluster.has_value()) {
    mistakes.Add("cluster",
                 "is not there; start the program by `weir local --job FILE.json -- PROGRAM`, or "
                 "write the cluster and this worker's task into TF_CONFIG");
    return;
  }
  if (cluster->self.role != RoleType::kWorker) {
    mistakes.Add("task.type", absl::StrCat("is ", RoleName(cluster->self.role),
                                           ", but a program that uses weir::Client is a worker"));
  }
  if (cluster->worker_hosts_chief) {
    mistakes.Add("cluster.chief", "is not there; list one, and start it by `weir run`");
  }
}

}  // namespace

absl::StatusOr<RoleSetup> SetupOfClient(const ClientConfig& config,
                                        const Environment& environment) {
  Mistakes mistakes;
  CheckConfig(config, mistakes);
  RoleSetup setup;
  setup.options.token = ReadToken(config, environment, mistakes);
  absl::StatusOr<TfConfig> cluster = config.tf_config.empty()
                                         ? LoadTfConfig("", environment)
                                         : ParseTfConfig(config.tf_config, "tf_config");
  if (cluster.ok()) CheckCluster(cluster->cluster, mistakes);
  if (!cluster.ok() && !mistakes.empty()) {
    return WithExitCode(
        absl::InvalidArgumentError(
            absl::StrCat(mistakes.ToStatus(kSubject).message(), "\n", cluster.status().message())),
        ExitCode::kBadUsage);
  }
  if (!cluster.ok()) return cluster.status();
  if (!mistakes.empty()) return mistakes.ToStatus(kSubject);
  setup.cluster = *std::move(cluster->cluster);
  setup.task = setup.cluster.self;
  setup.job_name = config.job;
  setup.options.net_devices = config.net_devices;
  setup.options.ucx_port_range = config.ucx_port_range;
  setup.options.start_deadline = config.start_deadline;
  setup.options.tls_cert = config.tls_cert;
  setup.options.tls_key = config.tls_key;
  setup.options.tls_ca = config.tls_ca;
  WEIR_ASSIGN_OR_RETURN(setup.tls, LoadTls(setup.options));
  return setup;
}

}  // namespace weir
