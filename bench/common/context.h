#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace weir::bench {

/// What made a report and where: the program, its commit and build type, UCX, the host's CPUs.
/// "weir 0.1.0 | git 1a2b3c4d5e6f release | UCX 1.13.1 | host 2 CPUs"
std::string ContextText();

/// The report of `bench` ("latency") in its beginning: that name and what `ContextText` says, by
/// `version`, `git`, `build_type`, `ucx_version` and `host_cpus`.
nlohmann::ordered_json ReportOf(const std::string& bench);

}  // namespace weir::bench
