#include "runtime/local_summary.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/atomic_file.h"

namespace weir {
namespace {

using nlohmann::json;

bool IsTask(const json& member, const Task& task) {
  return member.value("role", "") == std::string(RoleName(task.role)) &&
         member.value("index", -1) == task.index;
}

void FillIn(json& members, const ChildProcess& child) {
  if (!child.end().has_value()) return;
  json* found = nullptr;
  for (json& member : members) {
    if (IsTask(member, child.task())) found = &member;
  }
  if (found == nullptr) {
    members.push_back(
        {{"role", std::string(RoleName(child.task().role))}, {"index", child.task().index}});
    found = &members.back();
  }
  (*found)["pid"] = child.pid();
  (*found)["exit_code"] = child.end()->exit_code;
  (*found)["peak_rss_bytes"] = child.end()->peak_rss_bytes;
}

// "chief 21.3 MB, worker 140.1 MB": of each role the largest member.
std::string PeakMemory(const json& members) {
  std::vector<std::pair<std::string, double>> peaks;
  for (const json& member : members) {
    if (!member["peak_rss_bytes"].is_number()) continue;
    const std::string role = member.value("role", "?");
    const double bytes = member["peak_rss_bytes"].get<double>();
    const auto found = std::ranges::find(peaks, role, [](const auto& peak) { return peak.first; });
    if (found == peaks.end()) {
      peaks.emplace_back(role, bytes);
    } else {
      found->second = std::max(found->second, bytes);
    }
  }
  return absl::StrJoin(peaks, ", ", [](std::string* out, const auto& peak) {
    absl::StrAppendFormat(out, "%s %.1f MB", peak.first, peak.second / 1e6);
  });
}

// All that a person asks first, on one line: it may be the only one that is still on the screen.
std::string LastLine(const json& summary) {
  const json& accuracy = summary["test_accuracy"];
  const json& checkpoint = summary["checkpoint"];
  return absl::StrFormat(
      "step %d in %.1f s, %.1f steps/s, accuracy %s, peak memory %s, checkpoint %s\n",
      summary.value("global_step", 0), summary.value("wall_seconds", 0.0),
      summary.value("steps_per_second", 0.0),
      accuracy.is_number() ? absl::StrFormat("%.4f", accuracy.get<double>()) : "none",
      PeakMemory(summary["members"]),
      checkpoint.is_string() ? checkpoint.get<std::string>() : "none");
}

std::string MemberLine(const json& member) {
  std::string code = member["exit_code"].is_null() ? "?" : member["exit_code"].dump();
  std::string memory = "?";
  if (member["peak_rss_bytes"].is_number()) {
    memory = absl::StrFormat("%.1f MB", member["peak_rss_bytes"].get<double>() / 1e6);
  }
  return absl::StrFormat("  %-10s %5d  pid %-8d exit %-3s  peak memory %s\n",
                         member.value("role", "?"), member.value("index", 0),
                         member.value("pid", 0), code, memory);
}

}  // namespace

absl::StatusOr<std::string> CompleteSummary(const std::string& path,
                                            const std::vector<ChildProcess>& members) {
  std::ifstream file(path);
  json summary = json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!summary.is_object()) return absl::NotFoundError("the chief wrote no summary");
  json& listed = summary["members"];
  if (!listed.is_array()) listed = json::array();
  for (const ChildProcess& child : members) FillIn(listed, child);
  return summary.dump(2) + "\n";
}

absl::Status WriteSummaryFile(const std::string& path, const std::string& text) {
  return WriteFileAtomically(path, text);
}

std::string SummaryTable(const std::string& text) {
  const json summary = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!summary.is_object()) return "";
  std::string table =
      absl::StrFormat("\n%s: %d steps in %.1f s (%.1f steps/s", summary.value("job", "?"),
                      summary.value("global_step", 0), summary.value("train_seconds", 0.0),
                      summary.value("steps_per_second", 0.0));
  // Workers that are programs of their own know how many examples a step has; nobody else does.
  const double examples = summary.value("examples_per_second", 0.0);
  if (examples > 0) absl::StrAppendFormat(&table, ", %.0f examples/s", examples);
  table += ")\n";
  for (const json& member : summary["members"]) table += MemberLine(member);
  for (const json& path : summary["paths"]) {
    absl::StrAppendFormat(&table, "  %s -> %s: %s\n", path.value("from", "?"),
                          path.value("to", "?"), path.value("path", "?"));
  }
  const json& staleness = summary["staleness"];
  absl::StrAppendFormat(&table, "  staleness p50 %d  p99 %d  max %d\n", staleness.value("p50", 0),
                        staleness.value("p99", 0), staleness.value("max", 0));
  if (summary["test_accuracy"].is_number()) {
    absl::StrAppendFormat(&table, "  test accuracy %.4f\n", summary["test_accuracy"].get<double>());
  }
  if (summary["checkpoint"].is_string()) {
    absl::StrAppend(&table, "  checkpoint ", summary["checkpoint"].get<std::string>(), "\n");
  }
  table += LastLine(summary);
  return table;
}

}  // namespace weir
