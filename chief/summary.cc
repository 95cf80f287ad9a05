#include "chief/summary.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/atomic_file.h"
#include "weir/exit_code.h"

namespace weir::chief {
namespace {

// Keys in the order in which README lists them.
using Json = nlohmann::ordered_json;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// A float as people write it: 0.9103, not 0.910300016403198.
Json Rounded(const std::optional<float>& value) {
  if (!value.has_value() || !std::isfinite(*value)) return nullptr;
  return std::round(static_cast<double>(*value) * 1e6) / 1e6;
}

Json Paths(const Summary& summary) {
  Json paths = Json::array();
  for (const PathTaken& path : summary.paths) {
    paths.push_back({{"from", path.from}, {"to", path.to}, {"path", path.path}});
  }
  return paths;
}

Json Phases(const Summary& summary) {
  Json phases = Json::array();
  for (const WorkerPhases& worker : summary.phases) {
    phases.push_back({{"worker", worker.worker},
                      {"steps", worker.steps},
                      {"data_seconds", worker.data},
                      {"ticket_seconds", worker.ticket},
                      {"pull_seconds", worker.pull},
                      {"forward_seconds", worker.forward},
                      {"backward_seconds", worker.backward},
                      {"push_seconds", worker.push}});
  }
  return phases;
}

Json Members(const Summary& summary) {
  Json members = Json::array();
  for (const MemberSummary& member : summary.members) {
    members.push_back({{"role", member.role},
                       {"index", member.index},
                       {"pid", member.pid},
                       {"exit_code", OrNull(member.exit_code)},
                       {"peak_rss_bytes", OrNull(member.peak_rss_bytes)}});
  }
  return members;
}

}  // namespace

std::string SummaryToJson(const Summary& summary) {
  Json json;
  json["job"] = summary.job;
  json["mode"] = summary.mode;
  json["ps"] = summary.ps;
  json["workers"] = summary.workers;
  json["global_step"] = summary.global_step;
  json["wall_seconds"] = summary.wall_seconds;
  json["train_seconds"] = summary.train_seconds;
  json["steps_per_second"] = summary.steps_per_second;
  json["examples_per_second"] = summary.examples_per_second;
  json["final_loss"] = Rounded(summary.final_loss);
  json["test_accuracy"] = Rounded(summary.test_accuracy);
  json["paths"] = Paths(summary);
  json["rdma"] = {{"used", summary.rdma}, {"why_not", TextOrNull(summary.no_rdma)}};
  json["pushes"] = {{"acknowledged", summary.pushes.acknowledged},
                    {"applied", summary.pushes.applied},
                    {"duplicates", summary.pushes.duplicates},
                    {"dropped", summary.pushes.dropped},
                    {"lost", summary.pushes.lost}};
  json["staleness"] = {{"p50", summary.staleness.p50},
                       {"p99", summary.staleness.p99},
                       {"max", summary.staleness.max}};
  json["bytes"] = {{"pushed", summary.bytes.pushed}, {"pulled", summary.bytes.pulled}};
  json["phases"] = Phases(summary);
  json["members"] = Members(summary);
  json["checkpoint"] = TextOrNull(summary.checkpoint);
  // Texts come from peers: what is not UTF-8 is replaced, never thrown about.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::Status CheckSummaryPath(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const absl::Status probe = ProbeFile(path);
  return WithExitCode(
      absl::Status(probe.code(), absl::StrCat("--summary ", path, ": ", probe.message())),
      ExitCode::kBadUsage);
}

absl::Status WriteSummary(const Summary& summary, const std::string& path) {
  const absl::Status written = WriteFileAtomically(path, SummaryToJson(summary));
  if (written.ok()) return written;
  return absl::Status(written.code(),
                      absl::StrCat("cannot write the summary ", path, ": ", written.message()));
}

}  // namespace weir::chief
