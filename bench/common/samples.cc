#include "bench/common/samples.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace weir::bench {

std::string Samples::ToJson() const {
  return nlohmann::json{{"ns", nanoseconds}, {"wrong", wrong}}.dump();
}

absl::StatusOr<Samples> Samples::FromJson(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto is_count = [](const nlohmann::json& value) { return value.is_number_unsigned(); };
  if (!json.is_object() || !json.contains("ns") || !json["ns"].is_array() ||
      !json.contains("wrong") || !is_count(json["wrong"]) ||
      !std::ranges::all_of(json["ns"], is_count)) {
    return absl::InternalError(absl::StrCat("a process wrote '", line.substr(0, 200), "'"));
  }
  return Samples{.nanoseconds = json["ns"].get<std::vector<std::uint64_t>>(),
                 .wrong = json["wrong"].get<std::uint64_t>()};
}

Distribution DistributionOf(std::vector<std::uint64_t> nanoseconds) {
  if (nanoseconds.empty()) return {};
  std::ranges::sort(nanoseconds);
  const auto count = static_cast<double>(nanoseconds.size());
  const auto at = [&](double share) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * count));
    return static_cast<double>(nanoseconds[std::max<std::size_t>(rank, 1) - 1]) / 1000;
  };
  const double sum = std::accumulate(nanoseconds.begin(), nanoseconds.end(), 0.0);
  return {.count = nanoseconds.size(),
          .p50_us = at(0.5),
          .p99_us = at(0.99),
          .p999_us = at(0.999),
          .max_us = at(1),
          .mean_us = sum / count / 1000};
}

}  // namespace weir::bench
