#include "bench/common/context.h"

#include "absl/strings/str_cat.h"
#include "common/base/cpu.h"
#include "common/net/ucx/version.h"
#include "common/version/version.h"

namespace weir::bench {

std::string ContextText() {
  return absl::StrCat("weir ", BuildVersion(), " | git ", BuildCommit(), " ", BuildType(),
                      " | UCX ", net::UcxVersion(), " | host ", AllowedCpus().size(), " CPUs");
}

nlohmann::ordered_json ReportOf(const std::string& bench) {
  return {{"bench", bench},
          {"version", BuildVersion()},
          {"git", BuildCommit()},
          {"build_type", BuildType()},
          {"ucx_version", net::UcxVersion()},
          {"host_cpus", AllowedCpus().size()}};
}

}  // namespace weir::bench
