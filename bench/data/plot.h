#pragma once

#include <span>
#include <string>

#include "bench/data/options.h"
#include "bench/data/report.h"

namespace weir::bench {

/// An SVG picture of `rows`: median time, and bandwidth, over size, both axes logarithmic, a line
/// for each op; the controls' are dashed.
std::string PlotSvg(const DataBenchOptions& options, const RunContext& context,
                    std::span<const DataRow> rows);

}  // namespace weir::bench
