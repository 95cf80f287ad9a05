#include "cli/status_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "chief/logic/member_id.h"
#include "common/base/eta_text.h"
#include "common/config/mistakes.h"

namespace weir::cli {
namespace {

std::string MemberLine(const wire::MemberStatusT& status) {
  const wire::MemberT& member = *status.member;
  std::string line =
      absl::StrFormat("  %-10s %5d  %-8s %8d  %-22s", chief::RoleText(member.role), member.index,
                      Printable(member.state), member.pid, Printable(member.address));
  if (status.last_step > 0) {
    absl::StrAppendFormat(&line, " %10d %8.1f %9.4f", status.last_step, status.steps_per_second,
                          status.last_loss);
  }
  return line + "\n";
}

nlohmann::json RdmaJson(const wire::StatusReplyT& s) {
  nlohmann::json rdma{{"used", nullptr}, {"why_not", nullptr}};
  if (s.rdma != wire::RdmaUse::Undecided) rdma["used"] = s.rdma == wire::RdmaUse::Used;
  if (!s.no_rdma.empty()) rdma["why_not"] = s.no_rdma;
  return rdma;
}

// Of "worker 0 -> ps 0: message (ucx tcp/lo)": what comes before the colon as a column.
std::string PathTable(const std::vector<std::string>& paths) {
  if (paths.empty()) return "";
  constexpr char kPair[] = "from -> to";
  std::vector<std::pair<std::string, std::string>> rows;
  std::size_t width = sizeof kPair - 1;
  for (const std::string& path : paths) {
    const std::pair<std::string, std::string> row = absl::StrSplit(path, absl::MaxSplits(": ", 1));
    rows.emplace_back(Printable(row.first, 60), Printable(row.second, 200));
    width = std::max(width, rows.back().first.size());
  }
  std::string text = absl::StrFormat("  %-*s  path\n", width, kPair);
  for (const auto& [pair, path] : rows) {
    absl::StrAppendFormat(&text, "  %-*s  %s\n", width, pair, path);
  }
  return text;
}

}  // namespace

std::string StatusJson(const wire::StatusReplyT& s, JsonLayout layout) {
  nlohmann::json members = nlohmann::json::array();
  for (const auto& m : s.members) {
    if (!m || !m->member) continue;
    members.push_back({{"role", std::string(chief::RoleText(m->member->role))},
                       {"index", m->member->index},
                       {"pid", m->member->pid},
                       {"address", m->member->address},
                       {"state", m->member->state},
                       {"lease_left_ms", m->lease_left_ms},
                       {"last_step", m->last_step},
                       {"last_loss", m->last_loss},
                       {"steps_per_second", m->steps_per_second}});
  }
  nlohmann::json root{
      {"job", s.job},
      {"mode", s.mode},
      {"phase", s.phase},
      {"global_step", s.global_step},
      {"max_steps", s.max_steps},
      {"loss", s.loss},
      {"steps_per_second", s.steps_per_second},
      {"eta_seconds", nullptr},
      {"view", s.view},
      {"members", members},
      {"paths", s.paths},
      {"rdma", RdmaJson(s)},
      {"staleness", {{"p50", s.staleness_p50}, {"p99", s.staleness_p99}, {"max", s.staleness_max}}},
      {"last_checkpoint", s.last_checkpoint}};
  if (s.eta_seconds >= 0) root["eta_seconds"] = s.eta_seconds;
  // Texts come from other processes: what is not UTF-8 is replaced, not thrown about.
  return root.dump(layout == JsonLayout::kIndented ? 2 : -1, ' ', false,
                   nlohmann::json::error_handler_t::replace) +
         "\n";
}

std::string StatusTable(const wire::StatusReplyT& s) {
  const auto left = s.eta_seconds < 0 ? std::nullopt
                                      : std::optional<absl::Duration>(absl::Seconds(s.eta_seconds));
  std::string text = absl::StrFormat(
      "%s (%s), %s: step %d of %d, loss %.4f, %.1f steps/s, ETA %s\n"
      "staleness p50 %d p99 %d max %d, view %d, checkpoint %s\n"
      "  %-10s %5s  %-8s %8s  %-22s %10s %8s %9s\n",
      Printable(s.job), Printable(s.mode), Printable(s.phase), s.global_step, s.max_steps, s.loss,
      s.steps_per_second, EtaText(left), s.staleness_p50, s.staleness_p99, s.staleness_max, s.view,
      s.last_checkpoint.empty() ? "none" : Printable(s.last_checkpoint), "role", "index", "state",
      "pid", "address", "step", "steps/s", "loss");
  for (const auto& m : s.members) {
    if (m && m->member) text += MemberLine(*m);
  }
  absl::StrAppend(&text, PathTable(s.paths));
  if (!s.no_rdma.empty()) absl::StrAppend(&text, "  no RDMA: ", Printable(s.no_rdma, 400), "\n");
  return text;
}

}  // namespace weir::cli
