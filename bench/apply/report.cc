#include "bench/apply/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/common/context.h"
#include "ps_server/optimizers/sgd_variants.h"

namespace weir::bench {
namespace {

using Json = nlohmann::ordered_json;

// Weights and gradient are read, weights are written; a triad reads two arrays and writes a third.
constexpr double kStreams = 3;

std::string KernelName() {
  std::string name;
  for (const ps::SgdVariant& variant : ps::SgdVariants()) {
    if (variant.runs_here) name = variant.name;
  }
  return name;
}

std::uint64_t WrongOf(std::span<const ApplyRow> rows) {
  std::uint64_t wrong = 0;
  for (const ApplyRow& row : rows) wrong += row.wrong;
  return wrong;
}

ApplyRow RowOf(std::string op, const ApplyRun& run, std::span<const ApplyTimes> times,
               std::vector<std::uint64_t> ApplyTimes::*loop) {
  ApplyRow row{.op = std::move(op),
               .size_bytes = run.size,
               .threads = static_cast<int>(times.size()),
               .iters = run.iters};
  std::vector<std::uint64_t> all;
  for (const ApplyTimes& thread : times) {
    const Distribution time = DistributionOf(thread.*loop);
    if (time.p50_us > 0) {
      row.gbytes_per_s += kStreams * static_cast<double>(run.size) / time.p50_us / 1000;
      row.ops_per_s += 1e6 / time.mean_us;
    }
    std::ranges::copy(thread.*loop, std::back_inserter(all));
  }
  row.time = DistributionOf(std::move(all));
  return row;
}

double SpeedupOf(const ApplyRow& row, std::span<const ApplyRow> rows) {
  const auto first = std::ranges::find_if(rows, [&](const ApplyRow& other) {
    return other.op == row.op && other.size_bytes == row.size_bytes;
  });
  if (first == rows.end() || first->gbytes_per_s == 0) return 1;
  return row.gbytes_per_s / first->gbytes_per_s;
}

}  // namespace

void AddRows(const ApplyRun& run, std::span<const ApplyTimes> times, std::vector<ApplyRow>& rows) {
  ApplyRow sgd = RowOf("sgd", run, times, &ApplyTimes::sgd);
  ApplyRow triad = RowOf("triad", run, times, &ApplyTimes::triad);
  for (const ApplyTimes& thread : times) sgd.wrong += thread.wrong;
  sgd.ratio = triad.gbytes_per_s > 0 ? sgd.gbytes_per_s / triad.gbytes_per_s : 0;
  triad.ratio = 1;
  sgd.speedup = SpeedupOf(sgd, rows);
  triad.speedup = SpeedupOf(triad, rows);
  rows.push_back(std::move(sgd));
  rows.push_back(std::move(triad));
}

std::string Heading(const ApplyBenchOptions& options) {
  return absl::StrFormat(
      "# weir bench apply 1 | %s\n"
      "# kernel %s | threads on CPUs %s\n"
      "#  op     size_bytes  threads  iters      p50_us      p99_us     p999_us      max_us  "
      "gbytes_per_s    ops_per_s  speedup  ratio  wrong\n",
      ContextText(), KernelName(), absl::StrJoin(options.cpus, ","));
}

std::string RowLine(const ApplyRow& row) {
  return absl::StrFormat(
      "  %-6s %11d  %7d  %5d %11.2f %11.2f %11.2f %11.2f  %12.2f %12.1f  %7.2f  %5.2f  %5d\n",
      row.op, row.size_bytes, row.threads, row.iters, row.time.p50_us, row.time.p99_us,
      row.time.p999_us, row.time.max_us, row.gbytes_per_s, row.ops_per_s, row.speedup, row.ratio,
      row.wrong);
}

std::string ResultLine(std::span<const ApplyRow> rows) {
  const std::uint64_t wrong = WrongOf(rows);
  return absl::StrCat("# result ", wrong == 0 ? "OK" : "FAILED", " (wrong ", wrong, ")\n");
}

ExitCode VerdictOn(std::span<const ApplyRow> rows) {
  return WrongOf(rows) == 0 ? ExitCode::kDone : ExitCode::kFailed;
}

std::string ReportJson(const ApplyBenchOptions& options, std::span<const ApplyRow> rows) {
  Json json = ReportOf("apply");
  json["kernel"] = KernelName();
  json["cpus"] = options.cpus;
  json["rows"] = Json::array();
  for (const ApplyRow& row : rows) {
    json["rows"].push_back({{"op", row.op},
                            {"size_bytes", row.size_bytes},
                            {"threads", row.threads},
                            {"iters", row.iters},
                            {"p50_us", row.time.p50_us},
                            {"p99_us", row.time.p99_us},
                            {"p999_us", row.time.p999_us},
                            {"max_us", row.time.max_us},
                            {"gbytes_per_s", row.gbytes_per_s},
                            {"ops_per_s", row.ops_per_s},
                            {"speedup", row.speedup},
                            {"ratio", row.ratio},
                            {"wrong", row.wrong}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weir::bench
