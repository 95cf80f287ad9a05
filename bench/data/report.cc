#include "bench/data/report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/common/context.h"
#include "common/config/choice_flags.h"

namespace weir::bench {
namespace {

std::string TransportText(TransportChoice choice) { return *TransportValue(choice).show(); }

/// "2 ps", "1 ps of 2 threads".
std::string Servers(const DataBenchOptions& options) {
  const std::string threads =
      options.ps_threads > 1 ? absl::StrCat(" of ", options.ps_threads, " threads") : "";
  return absl::StrCat(options.ps, " ps", threads);
}

}  // namespace

std::string Heading(const DataBenchOptions& options, const RunContext& context) {
  return absl::StrFormat(
      "# weir bench %s 1 | %s\n"
      "# transport %s | path %s\n"
      "# %s on CPU %s, %s on CPU %s | window %d | warm-up a tenth, at least min(10, iters)\n"
      "%s",
      NameOf(options.bench), ContextText(), TransportText(options.transport), context.path,
      absl::StrCat(options.workers, options.workers == 1 ? " worker" : " workers"),
      absl::StrJoin(context.worker_cpus, ","), Servers(options),
      absl::StrJoin(context.ps_cpus, ","), options.window, ColumnsLine(options.control));
}

std::string ReportJson(const DataBenchOptions& options, const RunContext& context,
                       std::span<const DataRow> rows) {
  nlohmann::ordered_json json = ReportOf(NameOf(options.bench));
  json.update({{"transport", TransportText(options.transport)},
               {"path", context.path},
               {"ps", options.ps},
               {"ps_threads", options.ps_threads},
               {"workers", options.workers},
               {"worker_cpus", context.worker_cpus},
               {"ps_cpus", context.ps_cpus},
               {"window", options.window}});
  for (const auto& [size, path] : context.other_paths) {
    json["other_paths"].push_back({{"size_bytes", size}, {"path", path}});
  }
  return WithRows(std::move(json), rows);
}

}  // namespace weir::bench
