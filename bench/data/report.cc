#include "bench/data/report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/cpu.h"
#include "common/config/choice_flags.h"
#include "common/net/ucx/version.h"

namespace weir::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string TransportText(TransportChoice choice) { return *TransportValue(choice).show(); }

Json RowJson(const DataRow& row) {
  Json json = {{"op", row.op},
               {"size_bytes", row.size_bytes},
               {"window", row.window},
               {"iters", row.time.count},
               {"p50_us", row.time.p50_us},
               {"p99_us", row.time.p99_us},
               {"p999_us", row.time.p999_us},
               {"max_us", row.time.max_us},
               {"gbytes_per_s", row.gbytes_per_s},
               {"ops_per_s", row.ops_per_s},
               {"wrong", row.wrong}};
  if (!row.control.empty()) {
    json["control"] = row.control;
    json["ratio"] = row.ratio;
  }
  return json;
}

std::uint64_t WrongOf(std::span<const DataRow> rows) {
  std::uint64_t wrong = 0;
  for (const DataRow& row : rows) wrong += row.wrong;
  return wrong;
}

/// "2 ps", "1 ps of 2 threads".
std::string Servers(const DataBenchOptions& options) {
  const std::string threads =
      options.ps_threads > 1 ? absl::StrCat(" of ", options.ps_threads, " threads") : "";
  return absl::StrCat(options.ps, " ps", threads);
}

}  // namespace

DataRow RowOf(std::string op, std::uint64_t size, int window, int workers, Samples samples) {
  DataRow row{.op = std::move(op),
              .size_bytes = size,
              .window = window,
              .time = DistributionOf(std::move(samples.nanoseconds)),
              .wrong = samples.wrong};
  if (row.time.mean_us > 0) {
    row.ops_per_s = 1e6 / row.time.mean_us * window * workers;
    row.gbytes_per_s = row.ops_per_s * static_cast<double>(size) / 1e9;
  }
  return row;
}

void Compare(const DataRow& control, DataRow& row) {
  row.control = control.op;
  row.ratio = control.p50_us() > 0 ? row.p50_us() / control.p50_us() : 0;
}

std::string Heading(const DataBenchOptions& options, const RunContext& context) {
  return absl::StrFormat(
      "# weir bench %s 1 | weir %s %s | UCX %s | host %d CPUs | transport %s | path %s\n"
      "# %s on CPU %s, %s on CPU %s | window %d | warm-up a tenth, at least 10\n"
      "#  op            size_bytes   iters      p50_us      p99_us     p999_us      max_us  "
      "gbytes_per_s    ops_per_s  wrong%s\n",
      NameOf(options.bench), WEIR_VERSION, WEIR_BUILD_TYPE, net::UcxVersion(), AllowedCpus().size(),
      TransportText(options.transport), context.path,
      absl::StrCat(options.workers, options.workers == 1 ? " worker" : " workers"),
      absl::StrJoin(context.worker_cpus, ","), Servers(options),
      absl::StrJoin(context.ps_cpus, ","), options.window, options.control ? "  ratio" : "");
}

std::string RowLine(const DataRow& row) {
  return absl::StrFormat("  %-12s %12d %7d %11.2f %11.2f %11.2f %11.2f  %12.3f %12.1f  %5d%s\n",
                         row.op, row.size_bytes, row.time.count, row.time.p50_us, row.time.p99_us,
                         row.time.p999_us, row.time.max_us, row.gbytes_per_s, row.ops_per_s,
                         row.wrong,
                         row.control.empty() ? "" : absl::StrFormat("  %5.2f", row.ratio));
}

std::string ResultLine(std::span<const DataRow> rows) {
  const std::uint64_t wrong = WrongOf(rows);
  return absl::StrCat("# result ", wrong == 0 ? "OK" : "FAILED", " (wrong ", wrong, ")\n");
}

ExitCode VerdictOn(std::span<const DataRow> rows) {
  return WrongOf(rows) == 0 ? ExitCode::kDone : ExitCode::kFailed;
}

std::string ReportJson(const DataBenchOptions& options, const RunContext& context,
                       std::span<const DataRow> rows) {
  Json json = {{"bench", NameOf(options.bench)},
               {"version", WEIR_VERSION},
               {"build_type", WEIR_BUILD_TYPE},
               {"ucx_version", net::UcxVersion()},
               {"host_cpus", AllowedCpus().size()},
               {"transport", TransportText(options.transport)},
               {"path", context.path},
               {"ps", options.ps},
               {"ps_threads", options.ps_threads},
               {"workers", options.workers},
               {"worker_cpus", context.worker_cpus},
               {"ps_cpus", context.ps_cpus},
               {"window", options.window}};
  json["rows"] = Json::array();
  for (const DataRow& row : rows) json["rows"].push_back(RowJson(row));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weir::bench
