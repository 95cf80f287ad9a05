#include "runtime/local_summary.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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
  return table;
}

}  // namespace weir
