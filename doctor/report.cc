#include "doctor/report.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace weir::doctor {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kColumns = 100;
constexpr std::size_t kVerdictWidth = 6;  // "ok", "warn", "fail" and two spaces
// A longer name moves its own line only.
constexpr std::size_t kMostNameWidth = 22;

// Words from the column at which `line` ends to kColumns; each further line begins at `indent`.
std::string Wrapped(std::string line, std::size_t indent, absl::string_view text) {
  std::string wrapped;
  bool first_word = true;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!first_word && line.size() + 1 + word.size() > kColumns) {
      absl::StrAppend(&wrapped, line, "\n");
      line.assign(indent, ' ');
      first_word = true;
    }
    absl::StrAppend(&line, first_word ? "" : " ", word);
    first_word = false;
  }
  return absl::StrCat(wrapped, line, "\n");
}

std::size_t NameWidth(std::span<const Check> checks) {
  std::size_t width = 0;
  for (const Check& check : checks) width = std::max(width, check.name.size());
  return std::min(width, kMostNameWidth);
}

std::string Result(std::span<const Check> checks) {
  const auto count = [checks](Verdict verdict) {
    return std::ranges::count(checks, verdict, &Check::verdict);
  };
  return absl::StrFormat("result: %s (%d ok, %d warn, %d fail)\n", VerdictName(Worst(checks)),
                         count(Verdict::kOk), count(Verdict::kWarn), count(Verdict::kFail));
}

std::optional<Verdict> VerdictOf(absl::string_view name) {
  for (const Verdict verdict : {Verdict::kOk, Verdict::kWarn, Verdict::kFail}) {
    if (VerdictName(verdict) == name) return verdict;
  }
  return std::nullopt;
}

// Throws what nlohmann throws for a member that is missing or no text.
std::optional<std::vector<Check>> ChecksIn(const ordered_json& report) {
  std::vector<Check> checks;
  for (const ordered_json& one : report.at("checks")) {
    const auto verdict = VerdictOf(one.at("status").get<std::string>());
    if (!verdict.has_value()) return std::nullopt;
    checks.push_back({one.at("name").get<std::string>(), *verdict,
                      one.at("found").get<std::string>(), one.at("fix").get<std::string>()});
  }
  return checks;
}

}  // namespace

std::string ReportText(std::span<const Check> checks) {
  const std::size_t name_width = NameWidth(checks);
  const std::size_t indent = kVerdictWidth + name_width + 2;
  std::string text;
  for (const Check& check : checks) {
    std::string start = absl::StrFormat("%-6s%-*s  ", VerdictName(check.verdict),
                                        static_cast<int>(name_width), check.name);
    absl::StrAppend(&text, Wrapped(std::move(start), indent, check.found));
    if (check.fix.empty()) continue;
    absl::StrAppend(&text, Wrapped(std::string(indent, ' ') + "fix: ", indent + 5, check.fix));
  }
  return absl::StrCat(text, Result(checks));
}

std::string ReportJson(std::span<const Check> checks) {
  ordered_json list = ordered_json::array();
  for (const Check& check : checks) {
    list.push_back({{"name", check.name},
                    {"status", std::string(VerdictName(check.verdict))},
                    {"found", check.found},
                    {"fix", check.fix}});
  }
  const ordered_json report = {{"checks", list},
                               {"result", std::string(VerdictName(Worst(checks)))}};
  return absl::StrCat(report.dump(2, ' ', false, ordered_json::error_handler_t::replace), "\n");
}

std::optional<std::vector<Check>> ParseReportJson(absl::string_view text) {
  const auto report = ordered_json::parse(text.begin(), text.end(), nullptr, false);
  if (report.is_discarded()) return std::nullopt;
  try {
    return ChecksIn(report);
  } catch (const ordered_json::exception&) {
    return std::nullopt;
  }
}

}  // namespace weir::doctor
