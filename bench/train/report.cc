#include "bench/train/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/common/context.h"
#include "common/config/choice_flags.h"

namespace weir::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Phase {
  const char* name;
  absl::Duration PhaseTimes::*time;
};
constexpr Phase kPhases[] = {{"data", &PhaseTimes::data},         {"ticket", &PhaseTimes::ticket},
                             {"pull", &PhaseTimes::pull},         {"forward", &PhaseTimes::forward},
                             {"backward", &PhaseTimes::backward}, {"push", &PhaseTimes::push}};

template <typename Figure>
double MedianOf(const std::vector<Pair>& pairs, Figure figure) {
  std::vector<double> values;
  for (const Pair& pair : pairs) values.push_back(figure(pair));
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double Milliseconds(absl::Duration duration) { return absl::ToDoubleMilliseconds(duration); }

/// As a command line has it.
std::string TransportText(TransportChoice choice) { return *TransportValue(choice).show(); }

Json RunJson(const Run& run) {
  Json json = {{"steps_per_second", run.steps_per_second}};
  for (const Phase& phase : kPhases) {
    json[absl::StrCat(phase.name, "_ms")] = Milliseconds(run.step.*phase.time);
  }
  json["staleness_p50"] = run.staleness_p50;
  json["wrong"] = run.wrong;
  return json;
}

}  // namespace

absl::StatusOr<Run> RunOfSummary(const std::string& text, std::uint64_t steps) {
  const auto summary = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!summary.is_object() || !summary.contains("phases") || !summary["phases"].is_array()) {
    return absl::InternalError("the run wrote no summary, or one of another version");
  }
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json pushes = summary.value("pushes", none);
  Run run{.steps_per_second = summary.value("steps_per_second", 0.0),
          .staleness_p50 = summary.value("staleness", none).value("p50", 0.0)};
  const auto count = [&](const char* key) { return pushes.value(key, std::uint64_t{0}); };
  const auto gap = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; };
  run.wrong = count("lost") + gap(count("acknowledged"), steps) + gap(count("applied"), steps);
  double own_steps = 0;
  for (const nlohmann::json& worker : summary["phases"]) {
    own_steps += worker.value("steps", 0.0);
    for (const Phase& phase : kPhases) {
      run.step.*phase.time +=
          absl::Seconds(worker.value(absl::StrCat(phase.name, "_seconds"), 0.0));
    }
  }
  if (own_steps == 0) return absl::InternalError("the run's workers reported no steps");
  for (const Phase& phase : kPhases) run.step.*phase.time /= own_steps;
  return run;
}

double Row::median_ratio() const {
  return MedianOf(pairs, [](const Pair& pair) { return pair.ratio(); });
}

std::uint64_t Row::wrong() const {
  std::uint64_t sum = 0;
  for (const Pair& pair : pairs) sum += pair.weir.wrong;
  return sum;
}

std::string Heading(const TrainBenchOptions& options) {
  return absl::StrFormat(
      "# weir bench train 1 | %s\n"
      "# fashion-mnist, batch %d | %d steps a worker, %d pairs | transport %s "
      "| CPUs %s | seed %d\n"
      "# alone: as many trainers without ps, at once, each pinned; ratio = weir / alone\n"
      "#  workers  ps  pair  alone_steps_per_s  weir_steps_per_s  ratio  wrong\n",
      ContextText(), options.batch_size, options.steps, options.pairs,
      TransportText(options.transport), absl::StrJoin(options.cpus, ","), options.seed);
}

std::string PairLine(const ClusterSize& size, int number, const Pair& pair) {
  return absl::StrFormat("  %8d  %2d  %4d  %17.2f  %16.2f  %5.3f  %5d\n", size.workers, size.ps,
                         number, pair.alone.steps_per_second, pair.weir.steps_per_second,
                         pair.ratio(), pair.weir.wrong);
}

std::string RowText(const Row& row) {
  const auto [least, most] =
      std::ranges::minmax(row.pairs, {}, [](const Pair& pair) { return pair.ratio(); });
  std::string text = absl::StrFormat(
      "# %d %s, %d ps: medians alone %.2f, weir %.2f steps/s, ratio %.3f (%.3f to %.3f)\n"
      "#  phase     alone_ms  weir_ms   a step's average, medians\n",
      row.size.workers, row.size.workers == 1 ? "worker" : "workers", row.size.ps,
      MedianOf(row.pairs, [](const Pair& p) { return p.alone.steps_per_second; }),
      MedianOf(row.pairs, [](const Pair& p) { return p.weir.steps_per_second; }),
      row.median_ratio(), least.ratio(), most.ratio());
  for (const Phase& phase : kPhases) {
    absl::StrAppendFormat(
        &text, "   %-8s  %8.3f  %7.3f\n", phase.name,
        MedianOf(row.pairs, [&](const Pair& p) { return Milliseconds(p.alone.step.*phase.time); }),
        MedianOf(row.pairs, [&](const Pair& p) { return Milliseconds(p.weir.step.*phase.time); }));
  }
  return text;
}

std::string ReportJson(const TrainBenchOptions& options, const std::vector<Row>& rows) {
  Json json = ReportOf("train");
  json.update({{"job", "fashion-mnist"},
               {"batch_size", options.batch_size},
               {"steps", options.steps},
               {"transport", TransportText(options.transport)},
               {"cpus", options.cpus},
               {"seed", options.seed}});
  json["rows"] = Json::array();
  for (const Row& row : rows) {
    Json entry = {{"workers", row.size.workers},
                  {"ps", row.size.ps},
                  {"median_ratio", row.median_ratio()},
                  {"wrong", row.wrong()}};
    entry["pairs"] = Json::array();
    for (const Pair& pair : row.pairs) {
      entry["pairs"].push_back(
          {{"alone", RunJson(pair.alone)}, {"weir", RunJson(pair.weir)}, {"ratio", pair.ratio()}});
    }
    json["rows"].push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weir::bench
