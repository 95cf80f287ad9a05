#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/data/options.h"
#include "bench/data/row.h"

namespace weir::bench {

/// Where and how a run was measured; comments before the table, and part of the JSON.
struct RunContext {
  std::string path;  ///< from the first worker to the first ps: "message (ucx tcp/lo)"
  /// Of sizes, in bytes, whose pushes and pulls took another one.
  std::map<std::uint64_t, std::string> other_paths = {};
  std::vector<int> worker_cpus, ps_cpus;
};

/// Comments and the line that names the columns.
std::string Heading(const DataBenchOptions& options, const RunContext& context);
std::string ReportJson(const DataBenchOptions& options, const RunContext& context,
                       std::span<const DataRow> rows);

}  // namespace weir::bench
