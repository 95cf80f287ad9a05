#include "bench/data/row.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace weir::bench {
namespace {

using Json = nlohmann::ordered_json;

Json RowJson(const DataRow& row) {
  Json json = {{"op", row.op},
               {"size_bytes", row.size_bytes},
               {"window", row.window},
               {"iters", row.time.count},
               {"p50_us", row.time.p50_us},
               {"round_p50_us", row.round_p50_us},
               {"p99_us", row.time.p99_us},
               {"p999_us", row.time.p999_us},
               {"max_us", row.time.max_us},
               {"gbytes_per_s", row.gbytes_per_s},
               {"ops_per_s", row.ops_per_s},
               {"wrong", row.wrong}};
  if (!row.control.empty()) {
    json["control"] = row.control;
    json["ratio"] = row.ratio;
    json["ratio_least"] = row.ratio_least;
    json["ratio_most"] = row.ratio_most;
  }
  return json;
}

std::uint64_t WrongOf(std::span<const DataRow> rows) {
  std::uint64_t wrong = 0;
  for (const DataRow& row : rows) wrong += row.wrong;
  return wrong;
}

}  // namespace

DataRow RowOf(std::string op, std::uint64_t size, int window, int workers,
              std::span<const Samples> rounds) {
  DataRow row{.op = std::move(op), .size_bytes = size, .window = window};
  std::vector<std::uint64_t> all;
  for (const Samples& round : rounds) {
    row.round_p50_us.push_back(DistributionOf(round.nanoseconds).p50_us);
    row.wrong += round.wrong;
    std::ranges::copy(round.nanoseconds, std::back_inserter(all));
  }
  row.time = DistributionOf(std::move(all));
  if (row.time.mean_us > 0) {
    row.ops_per_s = 1e6 / row.time.mean_us * window * workers;
    row.gbytes_per_s = row.ops_per_s * static_cast<double>(size) / 1e9;
  }
  return row;
}

void Compare(const DataRow& control, DataRow& row) {
  row.control = control.op;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < row.round_p50_us.size(); ++i) {
    const double of_control = control.round_p50_us[i];
    ratios.push_back(of_control > 0 ? row.round_p50_us[i] / of_control : 0);
  }
  if (ratios.empty()) return;
  std::ranges::sort(ratios);
  row.ratio_least = ratios.front();
  row.ratio_most = ratios.back();
  row.ratio = (ratios[(ratios.size() - 1) / 2] + ratios[ratios.size() / 2]) / 2;
}

std::string ColumnsLine(bool ratios) {
  return absl::StrCat(
      "#  op            size_bytes   iters      p50_us      p99_us     p999_us      max_us  "
      "gbytes_per_s    ops_per_s  wrong",
      ratios ? "  ratio  least   most" : "", "\n");
}

std::string RowLine(const DataRow& row) {
  return absl::StrFormat(
      "  %-12s %12d %7d %11.2f %11.2f %11.2f %11.2f  %12.3f %12.1f  %5d%s\n", row.op,
      row.size_bytes, row.time.count, row.time.p50_us, row.time.p99_us, row.time.p999_us,
      row.time.max_us, row.gbytes_per_s, row.ops_per_s, row.wrong,
      row.control.empty()
          ? ""
          : absl::StrFormat("  %5.2f  %5.2f  %5.2f", row.ratio, row.ratio_least, row.ratio_most));
}

std::string ResultLine(std::span<const DataRow> rows) {
  const std::uint64_t wrong = WrongOf(rows);
  return absl::StrCat("# result ", wrong == 0 ? "OK" : "FAILED", " (wrong ", wrong, ")\n");
}

ExitCode VerdictOn(std::span<const DataRow> rows) {
  return WrongOf(rows) == 0 ? ExitCode::kDone : ExitCode::kFailed;
}

std::string WithRows(nlohmann::ordered_json report, std::span<const DataRow> rows) {
  report["rows"] = Json::array();
  for (const DataRow& row : rows) report["rows"].push_back(RowJson(row));
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weir::bench
